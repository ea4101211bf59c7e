import { type CoinPremium, utcMs } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import type { Day, Figures } from './history.ts'

/** A coin in numbers: prices, today so far, and today among its days. */
export function FigureList({
  row,
  day,
  figures,
}: {
  row: CoinPremium | undefined
  day: Day | undefined
  figures: Figures | undefined
}) {
  const { t, f, now } = useView()
  return (
    <div class="figures">
      {row && (
        <dl>
          <Item name={t.krw}>{f.price(row.upbit_krw)}</Item>
          <Item name={t.usdt}>{f.price(row.binance_usdt)}</Item>
          <Item name={t.rate}>{f.price(row.usdt_krw)}</Item>
          <Item name={t.updated} hint={fill(t.ago, f.age(now - utcMs(row.snapshot_at)))}>
            {f.time(utcMs(row.snapshot_at), now)}
          </Item>
        </dl>
      )}
      {day && (
        <dl aria-label={t.today}>
          <Item name={`${t.today} · ${t.open}`}>
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
