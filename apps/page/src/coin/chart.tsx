import { useEffect, useRef, useState } from 'preact/hooks'
import type { Theme } from '../header.tsx'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import type { Day } from './days.ts'
import { type DrawnChart, openChart } from './draw-chart.ts'

/** What a chart is drawn from. */
export interface ChartProps {
  readonly days: readonly Day[]
  readonly average: number | undefined
  /** Whether the moving average is drawn. */
  readonly hasAverage: boolean
  readonly symbol: string
  readonly theme: Theme
}

/** The days as candles; the day under the pointer is spelled out above. */
export function Chart({ days, average, hasAverage, symbol, theme }: ChartProps) {
  const { t, f, language } = useView()
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<DrawnChart>(undefined)
  const [pointed, point] = useState<string>()
  const isSystemDark = useSystemDark()
  useEffect(() => {
    if (!place.current) return
    const percent = (value: number) => `${f.number(value)}%`
    const drawn = openChart(place.current, { language, percent, averageName: t.average, onPoint: point })
    chart.current = drawn
    return () => drawn.close()
  }, [language, f, t, theme, isSystemDark])
  useEffect(
    () => chart.current?.draw({ days, average, hasAverage }),
    [days, average, hasAverage, language, theme, isSystemDark],
  )
  const day = days.find(({ date }) => date === pointed) ?? days.at(-1)
  return (
    <figure class="chart">
      {day && <Legend day={day} />}
      <div ref={place} class="canvas" role="img" aria-label={fill(t.chart, symbol)} />
      <figcaption>
        {t.charts}{' '}
        <a href="https://www.tradingview.com/" rel="noopener noreferrer">
          TradingView
        </a>{' '}
        · TradingView Lightweight Charts™ Copyright © 2026 TradingView, Inc.
      </figcaption>
    </figure>
  )
}

function Legend({ day }: { day: Day }) {
  const { t } = useView()
  const values = [
    [t.open, day.open_pct],
    [t.high, day.high_pct],
    [t.low, day.low_pct],
    [t.close, day.close_pct],
  ] as const
  return (
    <p class="legend" aria-hidden="true">
      <time>{day.date}</time>
      {values.map(([name, value]) => (
        <span key={name}>
          {name} <Percent value={value} />
        </span>
      ))}
    </p>
  )
}

/** A canvas doesn't follow the system's change to dark by itself. */
function useSystemDark(): boolean {
  const [query] = useState(() => matchMedia('(prefers-color-scheme: dark)'))
  const [isDark, setDark] = useState(query.matches)
  useEffect(() => {
    const follow = () => setDark(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [query])
  return isDark
}
