import { type CoinPremium, priceStep, resolutionPct } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Amount, Figure, Percent } from '../values.tsx'
import { useView } from '../view.ts'

export interface FigureListProps {
  readonly row: CoinPremium | undefined
  /** How many days the average is of. */
  readonly count: number
  /** Of all their minutes, percent. */
  readonly average: number | undefined
}

/** A coin in numbers: its prices, and its average; nothing without any. */
export function FigureList({ row, count, average }: FigureListProps) {
  const { t, f } = useView()
  if (!row && average === undefined) return null
  return (
    <dl class="figures">
      {row && (
        <>
          <Figure name={t.gap} value={<Amount coin={row} column="gap" />} />
          <Figure
            name={t.krw}
            value={<Amount coin={row} column="krw" />}
            hint={[
              f.price(priceStep(row.upbit_krw)),
              f.price(priceStep(row.usdt_krw)),
              f.number(resolutionPct(row), 2),
            ].reduce(fill, t.step)}
          />
          <Figure
            name={t.binance}
            value={<Amount coin={row} column="binance" />}
            hint={`${f.price(row.binance_usdt)} USDT`}
          />
          <Figure name={t.usdtKrw} value={f.price(row.usdt_krw)} />
        </>
      )}
      {average !== undefined && (
        <Figure
          name={t.averageOfAll}
          value={<Percent value={average} />}
          hint={fill(t.averageHint, f.number(count, 0))}
        />
      )}
    </dl>
  )
}
