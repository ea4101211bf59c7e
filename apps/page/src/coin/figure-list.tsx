import { type CoinPremium, priceStep, resolutionPct } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Amount, Figure, Percent, Span, Time } from '../values.tsx'
import { useView } from '../view.ts'
import type { Day, Figures } from './days.ts'

export interface FigureListProps {
  readonly row: CoinPremium | undefined
  readonly days: readonly Day[]
  /** When today's row was read, as a text. */
  readonly asOf: string
  readonly figures: Figures | undefined
}

/** A coin in numbers: prices, today so far, and the premium among its days; nothing without any. */
export function FigureList({ row, days, asOf, figures }: FigureListProps) {
  const { t, f } = useView()
  const { average, percentile } = figures ?? {}
  const day = days.find(({ status }) => status === 'running')
  if (!row && !figures) return null
  return (
    <dl class="figures">
      {row && (
        <>
          <Figure name={t.gap} value={<Amount coin={row} column="gap" />} />
          <Figure
            name={t.krw}
            value={<Amount coin={row} column="krw" />}
            hint={fill(fill(t.step, f.price(priceStep(row.upbit_krw))), f.number(resolutionPct(row), 2))}
          />
          <Figure
            name={t.binance}
            value={<Amount coin={row} column="binance" />}
            hint={`${f.price(row.binance_usdt)} USDT`}
          />
          <Figure name={t.usdtKrw} value={f.price(row.usdt_krw)} />
          <Figure name={t.updated} value={<Time at={row.snapshot_at} />} />
        </>
      )}
      {day && (
        <>
          <Figure name={`${t.today} · ${t.open}`} value={<Percent value={day.open_pct} />} />
          <Figure
            name={`${t.today} · ${t.lowHigh}`}
            value={<Span from={day.low_pct} to={day.high_pct} />}
            asOf={asOf}
          />
          <Figure name={`${t.today} · ${t.samples}`} value={f.number(day.samples, 0)} asOf={asOf} />
        </>
      )}
      {average !== undefined && (
        <Figure name={t.average} value={<Percent value={average} />} hint={t.averageHint} />
      )}
      {percentile !== undefined && (
        <Figure name={t.percentile} value={`${f.number(percentile, 1)}%`} hint={t.percentileHint} />
      )}
    </dl>
  )
}
