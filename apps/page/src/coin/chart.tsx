import { useEffect, useRef, useState } from 'preact/hooks'
import { useObserved } from '../observe.ts'
import { fill } from '../text/language.ts'
import { Percent } from '../values.tsx'
import { useView } from '../view.ts'
import type { Day } from './days.ts'
import { type Drawing, openChart } from './draw-chart.ts'

const DARK = matchMedia('(prefers-color-scheme: dark)')

/** The days as candles or a line; the numbers of the day under the pointer stand above. */
export function Chart({ days, average, hasAverage, symbol }: Drawing & { symbol: string }) {
  const { t, f, language, theme } = useView()
  const canvas = useRef<HTMLDivElement>(null)
  const chart = useRef<ReturnType<typeof openChart>>(undefined)
  const [pointed, point] = useState<string>()
  // Unlike CSS, a canvas must be drawn again when the system's colours change.
  const isSystemDark = useObserved(DARK, 'change', () => DARK.matches)
  useEffect(() => {
    if (!canvas.current) return
    const drawn = openChart(canvas.current, { language, f }, point)
    chart.current = drawn
    return () => drawn.close()
  }, [language, theme[0], isSystemDark])
  useEffect(
    () => chart.current?.draw({ days, average, hasAverage }),
    [days, average, hasAverage, language, theme[0], isSystemDark],
  )
  const day = days.find(({ date }) => date === pointed) ?? days.at(-1)
  return (
    <figure class="chart">
      {day && <Legend day={day} average={average} />}
      <div ref={canvas} class="canvas" role="img" aria-label={fill(t.chart, symbol)} />
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

function Legend({ day, average }: { day: Day; average: number }) {
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
      <span class="average">
        ┄ {t.average} <Percent value={average} />
      </span>
    </p>
  )
}
