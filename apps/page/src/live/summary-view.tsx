import { type CoinPremium, type LiveList, utcMs } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Figure, Percent, Time } from '../values.tsx'
import { useView } from '../view.ts'
import { summarise } from './summary.ts'

/** The list in a line: median, extremes, rate, and age. */
export function SummaryView({ list }: { list: LiveList }) {
  const { t, f, now, nameOf } = useView()
  const summary = summarise(list.data)
  if (!summary) return null
  const { median, highest, lowest, rate } = summary
  const link = (coin: CoinPremium) => (
    <a href={`#/${coin.symbol}`} title={nameOf(coin)}>
      {coin.symbol}
    </a>
  )
  return (
    <dl class="summary" aria-label={t.summary}>
      <Figure name={t.median}>
        <Percent value={median} isColoured />
      </Figure>
      <Figure name={t.highest} note={link(highest)}>
        <Percent value={highest.premium_pct} isColoured />
      </Figure>
      <Figure name={t.lowest} note={link(lowest)}>
        <Percent value={lowest.premium_pct} isColoured />
      </Figure>
      <Figure name={t.usdtKrw}>
        <data value={rate}>{f.price(rate)}</data>
      </Figure>
      <Figure name={t.updated} note={fill(t.ago, f.age(now - utcMs(list.updated_at)))}>
        <Time at={list.updated_at} />
      </Figure>
    </dl>
  )
}
