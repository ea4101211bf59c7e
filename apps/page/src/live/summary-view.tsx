import { type LiveList, utcMs } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { Time } from '../time.tsx'
import { useView } from '../view.ts'
import { summarise } from './summary.ts'

/** The list in a line: median, extremes, rate, and how new it is. */
export function SummaryView({ list }: { list: LiveList }) {
  const { t, f, now, nameOf } = useView()
  const summary = summarise(list.data)
  if (!summary) return null
  const { median, highest, lowest, rate } = summary
  return (
    <dl class="summary" aria-label={t.summary}>
      <Item name={t.median}>
        <Percent value={median} isColoured />
      </Item>
      {[
        { name: t.highest, coin: highest },
        { name: t.lowest, coin: lowest },
      ].map(({ name, coin }) => (
        <Item
          key={name}
          name={name}
          note={
            <a href={`#/${coin.symbol}`} title={nameOf(coin)}>
              {coin.symbol}
            </a>
          }
        >
          <Percent value={coin.premium_pct} isColoured />
        </Item>
      ))}
      <Item name={t.rate}>
        <data value={rate}>{f.price(rate)}</data>
      </Item>
      <Item name={t.updated} note={fill(t.ago, f.age(now - utcMs(list.updated_at)))}>
        <Time at={list.updated_at} />
      </Item>
    </dl>
  )
}

interface ItemProps {
  name: string
  note?: ComponentChildren
  children: ComponentChildren
}

function Item({ name, note, children }: ItemProps) {
  return (
    <div>
      <dt>
        {name} {note && <span class="note">{note}</span>}
      </dt>
      <dd>{children}</dd>
    </div>
  )
}
