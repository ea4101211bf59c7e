import { type CoinPremium, type LiveList, utcMs } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Figure, Percent, Time } from '../values.tsx'
import { useNow, useView } from '../view.ts'
import { summarise } from './summary.ts'

/** In place of a number that nobody knows now. */
const NONE = '–'

/** The current rows of a list in a line: median, extremes, rate, and age. */
export function SummaryView({ list }: { list: LiveList }) {
  const { t, f, now, nameOf, current } = useView()
  const age = useNow(() => f.age(now() - utcMs(list.updated_at)))
  const { median, highest, lowest, rate } = summarise(current) ?? {}
  const premium = (value?: number) => (value === undefined ? NONE : <Percent value={value} isColoured />)
  const extreme = (name: string, coin?: CoinPremium) => {
    const link = coin && (
      <a href={`#/${coin.symbol}`} title={nameOf(coin)}>
        {coin.symbol}
      </a>
    )
    return <Figure name={name} note={link} value={premium(coin?.premium_pct)} />
  }
  return (
    <dl class="summary" aria-label={t.summary}>
      <Figure name={t.median} value={premium(median)} />
      {extreme(t.highest, highest)}
      {extreme(t.lowest, lowest)}
      <Figure name={t.usdtKrw} value={rate ? <data value={rate}>{f.price(rate)}</data> : NONE} />
      <Figure name={t.updated} note={fill(t.ago, age)} value={<Time at={list.updated_at} />} />
    </dl>
  )
}
