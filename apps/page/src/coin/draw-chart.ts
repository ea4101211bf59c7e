import {
  type AutoscaleInfo,
  CandlestickSeries,
  createChart,
  type IChartApi,
  LineSeries,
  LineStyle,
} from 'lightweight-charts'
import { type Day, movingAverage } from './days.ts'

const WIDEST_DAY_PX = 44
/** A narrower candle is a smear: the closes are drawn as a line then. */
const NARROWEST_CANDLE_PX = 3
const AVERAGE_DAYS = 7

/** What is drawn. */
export interface Drawing {
  readonly days: readonly Day[]
  /** Mean of all minutes, as a dashed line. */
  readonly average: number | undefined
  /** Whether the moving average is drawn. */
  readonly hasAverage: boolean
}

/** A chart on the page. */
export interface DrawnChart {
  /** Shows these days; the view is fitted when their number changes. */
  draw(drawing: Drawing): void
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
  const { candles, closes, average: averages } = addSeries(chart, color, options)
  const timeScale = chart.timeScale()
  timeScale.subscribeVisibleLogicalRangeChange(range => {
    if (!range) return
    const isNarrow = timeScale.width() / (range.to - range.from) < NARROWEST_CANDLE_PX
    candles.applyOptions({ visible: !isNarrow })
    closes.applyOptions({ visible: isNarrow })
    place.dataset.style = isNarrow ? 'line' : 'candles'
  })
  chart.subscribeCrosshairMove(({ time }) => options.onPoint(typeof time === 'string' ? time : undefined))
  const averageLines: (() => void)[] = []
  let shown = 0
  return {
    draw: ({ days, average, hasAverage }) => {
      candles.setData(days.map(toCandle))
      closes.setData(days.map(({ date, close_pct }) => ({ time: date, value: close_pct })))
      const points = hasAverage ? movingAverage(days, AVERAGE_DAYS) : []
      averages.setData(points.map(({ date, value }) => ({ time: date, value })))
      for (const remove of averageLines.splice(0)) remove()
      for (const series of average === undefined ? [] : [candles, closes]) {
        const line = series.createPriceLine({
          price: average ?? 0,
          color: color('--accent'),
          lineStyle: LineStyle.Dashed,
          lineWidth: 1,
          title: options.averageName,
        })
        averageLines.push(() => series.removePriceLine(line))
      }
      if (days.length !== shown) timeScale.setVisibleLogicalRange(rangeOf(days.length, place.clientWidth))
      shown = days.length
    },
    close: () => chart.remove(),
  }
}

function addSeries(chart: IChartApi, color: (name: string) => string, { percent }: ChartOptions) {
  const [up, down] = [color('--up'), color('--down')]
  const common = {
    priceLineVisible: false,
    autoscaleInfoProvider: withZero,
    priceFormat: { type: 'custom', minMove: 0.0001, formatter: percent },
  } as const
  const candles = chart.addSeries(CandlestickSeries, {
    ...common,
    upColor: up,
    wickUpColor: up,
    borderUpColor: up,
    downColor: down,
    wickDownColor: down,
    borderDownColor: down,
  })
  const line = { ...common, lastValueVisible: false, crosshairMarkerVisible: false } as const
  const closes = chart.addSeries(LineSeries, { ...line, color: color('--text'), lineWidth: 2 })
  const average = chart.addSeries(LineSeries, { ...line, color: color('--violet'), lineWidth: 2 })
  for (const series of [candles, closes]) {
    series.createPriceLine({
      price: 0,
      color: color('--muted'),
      lineStyle: LineStyle.Solid,
      lineWidth: 1,
      title: '',
    })
  }
  return { candles, closes, average }
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
