import { type CoinPremium, priceStep, resolutionPct } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Amount, Figure, Percent } from '../values.tsx'
import { useView } from '../view.ts'
import type { Figures } from './days.ts'

export interface FigureListProps {
  readonly row: CoinPremium | undefined
  /** How many days the figures are of. */
  readonly count: number
  readonly figures: Figures | undefined
}

/** A coin in numbers: its prices, and the premium among its days; nothing without any. */
export function FigureList({ row, count, figures }: FigureListProps) {
  const { t, f } = useView()
  const { average, percentile } = figures ?? {}
  if (!row && !figures) return null
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
      {percentile !== undefined && (
        <Figure name={t.percentile} value={`${f.number(percentile, 1)}%`} hint={t.percentileHint} />
      )}
    </dl>
  )
}
