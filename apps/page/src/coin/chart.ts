import {
  type AutoscaleInfo,
  CandlestickSeries,
  createChart,
  type IPriceLine,
  LineStyle,
} from 'lightweight-charts'
import type { Day } from './history.ts'

const WIDEST_DAY_PX = 44

/** A chart on the page. */
export interface DrawnChart {
  /** Shows these days; the view is fitted when their number changes. */
  draw(days: readonly Day[], average: number | undefined): void
  close(): void
}

/** How a chart is drawn. */
export interface ChartOptions {
  readonly language: string
  readonly percent: (value: number) => string
  readonly averageName: string
  /** Called with the date under the pointer. */
  readonly onPoint: (date: string | undefined) => void
}

/**
 * Opens a candle chart with a zero line. Its logo would add a style element, which the policy refuses: see
 * the caption.
 */
export function openChart(place: HTMLElement, options: ChartOptions): DrawnChart {
  const color = (name: string) => resolveColor(place, name)
  const chart = createChart(place, {
    autoSize: true,
    layout: {
      attributionLogo: false,
      background: { color: 'transparent' },
      textColor: color('--muted'),
      fontFamily: getComputedStyle(place).fontFamily,
      fontSize: 12,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: color('--line') } },
    rightPriceScale: { borderVisible: false, entireTextOnly: true },
    timeScale: { borderVisible: false },
    localization: { locale: options.language, priceFormatter: options.percent, dateFormat: 'yyyy-MM-dd' },
    handleScroll: { vertTouchDrag: false, mouseWheel: false },
    handleScale: { mouseWheel: false },
  })
  const [up, down] = [color('--up'), color('--down')]
  const series = chart.addSeries(CandlestickSeries, {
    upColor: up,
    wickUpColor: up,
    borderUpColor: up,
    downColor: down,
    wickDownColor: down,
    borderDownColor: down,
    priceLineVisible: false,
    autoscaleInfoProvider: withZero,
    priceFormat: { type: 'custom', minMove: 0.0001, formatter: options.percent },
  })
  series.createPriceLine({
    price: 0,
    color: color('--muted'),
    lineStyle: LineStyle.Solid,
    lineWidth: 1,
    title: '',
  })
  chart.subscribeCrosshairMove(({ time }) => options.onPoint(typeof time === 'string' ? time : undefined))
  let averageLine: IPriceLine | undefined
  let shown = 0
  return {
    draw: (days, average) => {
      series.setData(days.map(toCandle))
      if (averageLine) series.removePriceLine(averageLine)
      averageLine =
        average === undefined
          ? undefined
          : series.createPriceLine({
              price: average,
              color: color('--accent'),
              lineStyle: LineStyle.Dashed,
              lineWidth: 1,
              title: options.averageName,
            })
      if (days.length !== shown)
        chart.timeScale().setVisibleLogicalRange(rangeOf(days.length, place.clientWidth))
      shown = days.length
    },
    close: () => chart.remove(),
  }
}

/** All days, a few of them no wider than they look good, with room for the line's name at the right. */
function rangeOf(days: number, width: number): { from: number; to: number } {
  const to = days + 1
  return { from: to - Math.max(days + 2, width / WIDEST_DAY_PX), to }
}

/** The zero line is what a premium is measured from, so it is always in view. */
function withZero(original: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = original()
  if (!info?.priceRange) return info
  const { minValue, maxValue } = info.priceRange
  return { ...info, priceRange: { minValue: Math.min(0, minValue), maxValue: Math.max(0, maxValue) } }
}

function toCandle({ date, open_pct: open, high_pct: high, low_pct: low, close_pct: close }: Day) {
  return { time: date, open, high, low, close }
}

/** The current colour of a custom property, in a form the canvas can read. */
function resolveColor(place: HTMLElement, name: string): string {
  const before = place.style.color
  place.style.color = `var(${name})`
  const { color } = getComputedStyle(place)
  place.style.color = before
  return color
}
