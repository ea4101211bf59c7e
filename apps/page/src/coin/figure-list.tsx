import type { CoinPremium } from '@kimchi/client'
import { COLUMNS } from '../table/rows.ts'
import { Figure, Percent, Time } from '../values.tsx'
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

/** A coin in numbers: prices, today so far, and the premium among its days. */
export function FigureList({ row, day, asOf, figures }: FigureListProps) {
  const { t, f } = useView()
  return (
    <div class="figures">
      {row && (
        <dl>
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
        </dl>
      )}
      {day && (
        <dl aria-label={t.today}>
          <Figure name={`${t.today} · ${t.open}`} hint={asOf}>
            <Percent value={day.open_pct} />
          </Figure>
          <Figure name={t.high}>
            <Percent value={day.high_pct} />
          </Figure>
          <Figure name={t.low}>
            <Percent value={day.low_pct} />
          </Figure>
          <Figure name={t.samples}>{f.number(day.samples, 0)}</Figure>
        </dl>
      )}
      {figures && (
        <dl>
          <Figure name={t.average} hint={t.averageHint}>
            <Percent value={Math.round(figures.average * 10_000) / 10_000} />
          </Figure>
          <Figure name={t.percentile} hint={t.percentileHint}>
            {figures.percentile === undefined ? t.needsDays : `${f.number(figures.percentile, 1)}%`}
          </Figure>
          <Figure name={t.zScore} hint={t.zScoreHint}>
            {figures.zScore === undefined ? t.needsDays : f.number(figures.zScore, 2)}
          </Figure>
        </dl>
      )}
    </div>
  )
}
