import type { CoinPremium } from '@kimchi/client'
import { BankFigure } from '../bank/bank-figure.tsx'
import { Figure, Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { summarise } from './summary.ts'

/** In place of a number that nobody knows now. */
const NONE = '–'

/** The current rows in a line: median and extremes, the rate that they are based on, and the bank's. */
export function SummaryView() {
  const { t, f, nameOf, current } = useView()
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
    <dl class="summary">
      <Figure name={t.median} note="USDT" value={premium(median)} />
      {extreme(t.highest, highest)}
      {extreme(t.lowest, lowest)}
      <Figure name={t.usdtKrw} value={rate ? <data value={rate}>{f.price(rate)}</data> : NONE} />
      <BankFigure />
    </dl>
  )
}
