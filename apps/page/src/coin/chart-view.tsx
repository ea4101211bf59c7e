import { useEffect, useRef, useState } from 'preact/hooks'
import type { Theme } from '../header.tsx'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { type DrawnChart, openChart } from './chart.ts'
import type { Day } from './history.ts'

/** The days as candles; the day under the pointer is spelled out above. */
export function Chart({
  days,
  average,
  symbol,
  theme,
}: {
  days: readonly Day[]
  average: number | undefined
  symbol: string
  theme: Theme
}) {
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
  useEffect(() => chart.current?.draw(days, average), [days, average, language, theme, isSystemDark])
  const day = days.find(({ date }) => date === pointed) ?? days.at(-1)
  return (
    <figure class="chart">
      {day && (
        <p class="legend" aria-hidden="true">
          <time>{day.date}</time>
          {[
            [t.open, day.open_pct],
            [t.high, day.high_pct],
            [t.low, day.low_pct],
            [t.close, day.close_pct],
          ].map(([name, value]) => (
            <span key={name}>
              {name} <Percent value={Number(value)} />
            </span>
          ))}
        </p>
      )}
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
