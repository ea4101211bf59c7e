import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useObserved } from '../use-observed.ts'
import { Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { Dot } from './day-dot.tsx'
import { averageOf, calendarOf, type Day } from './days.ts'
import { openChart } from './draw-chart.ts'

const DARK = matchMedia('(prefers-color-scheme: dark)')

/** The days as candles or a line; the numbers of the day that is pointed at, tapped or reached by key stand above. */
export function Chart({ days, symbol }: { days: readonly Day[]; symbol: string }) {
  const { t, f, language } = useView()
  const canvas = useRef<HTMLDivElement>(null)
  const chart = useRef<ReturnType<typeof openChart>>(undefined)
  const [pointed, point] = useState<string>()
  // Unlike CSS, a canvas must be drawn again when the system's colours change.
  const isSystemDark = useObserved(DARK, 'change', () => DARK.matches)
  const dates = useMemo(() => calendarOf(days), [days])
  const average = useMemo(() => averageOf(days), [days])
  useEffect(() => {
    if (!canvas.current) return
    const drawn = openChart(canvas.current, { language, f }, point)
    chart.current = drawn
    return () => drawn.close()
  }, [language, isSystemDark])
  useEffect(() => chart.current?.draw({ days, dates, average }), [days, language, isSystemDark])
  const date = pointed !== undefined && dates.includes(pointed) ? pointed : (dates.at(-1) ?? '')
  const day = days.find(day => day.date === date)
  return (
    <figure class="chart">
      <p class="legend" aria-hidden="true">
        <time>{date}</time>
        {day ? <Values day={day} /> : t.noData}
      </p>
      <input
        type="range"
        class="unseen"
        aria-label={t.day}
        aria-valuetext={day ? `${date}: ${t.close} ${f.signed(day.close_pct)}%` : `${date}: ${t.noData}`}
        max={dates.length - 1}
        value={dates.indexOf(date)}
        onInput={event => {
          const chosen = dates[event.currentTarget.valueAsNumber]
          point(chosen)
          chart.current?.pointAt(days.find(day => day.date === chosen))
        }}
      />
      <div ref={canvas} class="canvas" role="img" aria-label={fill(t.chart, symbol)} />
      <figcaption>
        <span class="average">
          ┄ {t.averageOfAll} <Percent value={average} />
        </span>{' '}
        {fill(t.averageHint, f.number(days.length, 0))} · {t.usdtBasis} ·{' '}
        <span class="closes">{t.closesOnly} · </span>
        {t.charts}{' '}
        <a href="https://www.tradingview.com/" rel="noopener noreferrer">
          TradingView
        </a>{' '}
        · TradingView Lightweight Charts™ Copyright © 2026 TradingView, Inc.
      </figcaption>
    </figure>
  )
}

function Values({ day }: { day: Day }) {
  const { t } = useView()
  const values = [
    [t.open, day.open_pct],
    [t.high, day.high_pct],
    [t.low, day.low_pct],
    [t.close, day.close_pct],
    [t.average, day.avg_pct],
  ] as const
  return (
    <>
      {day.status !== 'whole' && (
        <span>
          <Dot kind={day.status} /> {t[day.status]}
        </span>
      )}
      {values.map(([name, value]) => (
        <span key={name}>
          {name} <Percent value={value} />
        </span>
      ))}
    </>
  )
}
