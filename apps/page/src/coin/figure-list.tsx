import type { CoinPremium } from '@kimchi/client'
import { COLUMNS } from '../table/rows.ts'
import { Figure, Percent, Span, Time } from '../values.tsx'
import { useView } from '../view.ts'
import type { Day, Figures } from './days.ts'

/** What a coin's figures are drawn from. */
export interface FigureListProps {
  readonly row: CoinPremium | undefined
  readonly day: Day | undefined
  /** When today's row was read, as a text. */
  readonly asOf: string
  readonly figures: Figures | undefined
}

/** A coin in numbers: prices, today so far, and the premium among its days; nothing without any. */
export function FigureList({ row, day, asOf, figures }: FigureListProps) {
  const { t, f } = useView()
  if (!row && !day && !figures) return null
  return (
    <dl class="figures">
      {row && (
        <>
          <Figure name={t.gap}>
            <data value={COLUMNS.gap(row)}>{f.won(COLUMNS.gap(row), true)}</data>
          </Figure>
          <Figure name={t.krw}>{f.price(row.upbit_krw)}</Figure>
          <Figure name={t.binance} hint={`${f.price(row.binance_usdt)} USDT`}>
            {f.won(COLUMNS.binance(row))}
          </Figure>
          <Figure name={t.usdtKrw}>{f.price(row.usdt_krw)}</Figure>
          <Figure name={t.updated}>
            <Time at={row.snapshot_at} />
          </Figure>
        </>
      )}
      {day && (
        <>
          <Figure name={`${t.today} · ${t.open}`}>
            <Percent value={day.open_pct} />
          </Figure>
          <Figure name={`${t.today} · ${t.lowHigh}`} asOf={asOf}>
            <Span from={day.low_pct} to={day.high_pct} />
          </Figure>
          <Figure name={`${t.today} · ${t.samples}`} asOf={asOf}>
            {f.number(day.samples, 0)}
          </Figure>
        </>
      )}
      {figures && (
        <Figure name={t.average} hint={t.averageHint}>
          <Percent value={figures.average} />
        </Figure>
      )}
      {figures?.percentile !== undefined && (
        <Figure name={t.percentile} hint={t.percentileHint}>
          {f.number(figures.percentile, 1)}%
        </Figure>
      )}
      {figures?.zScore !== undefined && (
        <Figure name={t.zScore} hint={t.zScoreHint}>
          {f.number(figures.zScore, 2)}
        </Figure>
      )}
    </dl>
  )
}
