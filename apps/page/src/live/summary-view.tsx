import { type CoinPremium, type LiveList, utcMs } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Figure, Percent, Time } from '../values.tsx'
import { useTick, useView } from '../view.ts'
import { summarise } from './summary.ts'

/** The list in a line: median, extremes, rate, and age. */
export function SummaryView({ list }: { list: LiveList }) {
  const { t, f, now, nameOf } = useView()
  useTick()
  const summary = summarise(list.data)
  if (!summary) return null
  const { median, highest, lowest, rate } = summary
  const extreme = (name: string, coin: CoinPremium) => {
    const link = (
      <a href={`#/${coin.symbol}`} title={nameOf(coin)}>
        {coin.symbol}
      </a>
    )
    return <Figure name={name} note={link} value={<Percent value={coin.premium_pct} isColoured />} />
  }
  return (
    <dl class="summary" aria-label={t.summary}>
      <Figure name={t.median} value={<Percent value={median} isColoured />} />
      {extreme(t.highest, highest)}
      {extreme(t.lowest, lowest)}
      <Figure name={t.usdtKrw} value={<data value={rate}>{f.price(rate)}</data>} />
      <Figure
        name={t.updated}
        note={fill(t.ago, f.age(now() - utcMs(list.updated_at)))}
        value={<Time at={list.updated_at} />}
      />
    </dl>
  )
}
