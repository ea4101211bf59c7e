import { type LiveList, utcMs } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { summarise } from './summary.ts'

/** The list in a line: median, extremes, rate, and how new it is. */
export function SummaryView({ list }: { list: LiveList }) {
  const { t, f, now } = useView()
  const summary = summarise(list.data)
  const at = utcMs(list.updated_at)
  if (!summary) return null
  const { median, highest, lowest, rate } = summary
  return (
    <dl class="summary" aria-label={t.summary}>
      <Item name={t.median}>
        <Percent value={round(median)} arrow />
      </Item>
      {[
        { name: t.highest, coin: highest },
        { name: t.lowest, coin: lowest },
      ].map(({ name, coin }) => (
        <Item key={name} name={name} note={<a href={`#/${coin.symbol}`}>{coin.symbol}</a>}>
          <Percent value={coin.premium_pct} arrow />
        </Item>
      ))}
      <Item name={t.rate}>
        <data value={rate}>{f.price(rate)}</data>
      </Item>
      <Item name={t.updated} note={fill(t.ago, f.age(now - at))}>
        <time dateTime={`${list.updated_at}Z`}>{f.time(at, now)}</time>
      </Item>
    </dl>
  )
}

/** A median of two may have a fifth digit. */
function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

function Item({
  name,
  note,
  children,
}: {
  name: string
  note?: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <div>
      <dt>
        {name} {note && <span class="note">{note}</span>}
      </dt>
      <dd>{children}</dd>
    </div>
  )
}
