import type { CoinPremium } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { binanceKrw, gapKrw } from '../live/prices.ts'
import { Percent } from '../percent.tsx'
import { Time } from '../time.tsx'
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
      {row && <Prices row={row} />}
      {day && (
        <dl aria-label={t.today}>
          <Item name={`${t.today} · ${t.open}`} hint={asOf}>
            <Percent value={day.open_pct} />
          </Item>
          <Item name={t.high}>
            <Percent value={day.high_pct} />
          </Item>
          <Item name={t.low}>
            <Percent value={day.low_pct} />
          </Item>
          <Item name={t.samples}>{f.number(day.samples, 0)}</Item>
        </dl>
      )}
      {figures && (
        <dl>
          <Item name={t.average} hint={t.averageHint}>
            <Percent value={Math.round(figures.average * 10_000) / 10_000} />
          </Item>
          <Item name={t.percentile} hint={t.percentileHint}>
            {figures.percentile === undefined ? t.needsDays : `${f.number(figures.percentile, 1)}%`}
          </Item>
          <Item name={t.zScore} hint={t.zScoreHint}>
            {figures.zScore === undefined ? t.needsDays : f.number(figures.zScore, 2)}
          </Item>
        </dl>
      )}
    </div>
  )
}

function Prices({ row }: { row: CoinPremium }) {
  const { t, f } = useView()
  return (
    <dl>
      <Item name={t.gap}>
        <data value={gapKrw(row)}>{f.won(gapKrw(row), true)}</data>
      </Item>
      <Item name={t.krw}>{f.price(row.upbit_krw)}</Item>
      <Item name={t.binanceKrw} hint={`${f.price(row.binance_usdt)} USDT`}>
        {f.won(binanceKrw(row))}
      </Item>
      <Item name={t.rate}>{f.price(row.usdt_krw)}</Item>
      <Item name={t.updated}>
        <Time at={row.snapshot_at} />
      </Item>
    </dl>
  )
}

function Item({ name, hint, children }: { name: string; hint?: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {hint && <span class="hint">{hint}</span>}
      </dd>
    </div>
  )
}
