import { type CoinPremium, priceStep, resolutionPct } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Amount, Figure } from '../values.tsx'
import { useView } from '../view.ts'

/** A coin's prices, and how exact its premium is. */
export function FigureList({ row }: { row: CoinPremium }) {
  const { t, f } = useView()
  const steps = [priceStep(row.upbit_krw), priceStep(row.usdt_krw)].map(f.price)
  return (
    <dl class="figures">
      <Figure name={t.gap} value={<Amount coin={row} column="gap" />} />
      <Figure
        name={t.krw}
        value={<Amount coin={row} column="krw" />}
        hint={[...steps, f.number(resolutionPct(row), 2)].reduce(fill, t.step)}
      />
      <Figure
        name={t.binance}
        value={<Amount coin={row} column="binance" />}
        hint={`${f.price(row.binance_usdt)} USDT`}
      />
      <Figure name={t.usdtKrw} value={f.price(row.usdt_krw)} />
    </dl>
  )
}
