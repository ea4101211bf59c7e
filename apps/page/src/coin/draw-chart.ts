import {
  type AutoscaleInfo,
  CandlestickSeries,
  createChart,
  type IChartApi,
  LineSeries,
  LineStyle,
} from 'lightweight-charts'
import type { Words } from '../text/language.ts'
import { type Day, movingAverage } from './days.ts'

/** A candle takes four fifths of its day's slot, and is to be no wider than a tenth of the chart. */
const FEWEST_SLOTS = 8
/** Narrower candles merge, so the closes are drawn as a line instead. */
const NARROWEST_CANDLE_PX = 3
const AVERAGE_DAYS = 7

export interface Drawing {
  readonly days: readonly Day[]
  /** Mean of all minutes in percent, drawn as a dashed line. */
  readonly average: number
  readonly hasAverage: boolean
}

/**
 * Opens a candle chart with a zero line. The library's logo would add a style element, which the policy of
 * the page refuses; the caption names the library instead.
 * @param onPoint called with the date under the pointer
 */
export function openChart(
  box: HTMLElement,
  { language, f }: Pick<Words, 'language' | 'f'>,
  onPoint: (date: string | undefined) => void,
) {
  const color = (name: string) => resolveColor(box, name)
  const chart = createChart(box, {
    autoSize: true,
    layout: {
      attributionLogo: false,
      background: { color: 'transparent' },
      textColor: color('--muted'),
      fontFamily: getComputedStyle(box).fontFamily,
      fontSize: 12,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: color('--line') } },
    rightPriceScale: { borderVisible: false, entireTextOnly: true },
    timeScale: { borderVisible: false },
    localization: {
      locale: language,
      priceFormatter: (value: number) => `${f.signed(value)}%`,
      dateFormat: 'yyyy-MM-dd',
    },
    handleScroll: { vertTouchDrag: false, mouseWheel: false },
    handleScale: { mouseWheel: false },
  })
  const { candles, closes, averages, averageLine } = addSeries(chart, color)
  const timeScale = chart.timeScale()
  timeScale.subscribeVisibleLogicalRangeChange(range => {
    if (!range) return
    const isNarrow = timeScale.width() / (range.to - range.from) < NARROWEST_CANDLE_PX
    candles.applyOptions({ visible: !isNarrow })
    closes.applyOptions({ color: isNarrow ? color('--text') : 'transparent' })
    box.dataset.style = isNarrow ? 'line' : 'candles'
  })
  chart.subscribeCrosshairMove(({ time }) => onPoint(typeof time === 'string' ? time : undefined))
  let shown = 0
  return {
    /** Shows these days; fits the view when their number changes. */
    draw: ({ days, average, hasAverage }: Drawing) => {
      candles.setData(days.map(toCandle))
      closes.setData(days.map(({ date, close_pct }) => ({ time: date, value: close_pct })))
      const points = hasAverage ? movingAverage(days, AVERAGE_DAYS) : []
      averages.setData(points.map(({ date, value }) => ({ time: date, value })))
      averageLine.applyOptions({ price: average })
      // At a fixed edge the library draws a label whole; few days stand in the middle, off the edges.
      const isFull = days.length >= FEWEST_SLOTS
      timeScale.applyOptions({ fixLeftEdge: isFull, fixRightEdge: isFull })
      if (days.length !== shown) timeScale.setVisibleLogicalRange(rangeOf(days.length))
      shown = days.length
    },
    close: () => chart.remove(),
  }
}

function addSeries(chart: IChartApi, color: (name: string) => string) {
  const [up, down] = [color('--up'), color('--down')]
  const common = {
    priceLineVisible: false,
    autoscaleInfoProvider: withZero,
    priceFormat: { type: 'price', precision: 4, minMove: 0.0001 },
  } as const
  const candles = chart.addSeries(CandlestickSeries, {
    ...common,
    upColor: up,
    wickUpColor: up,
    downColor: down,
    wickDownColor: down,
    borderVisible: false,
  })
  const line = { ...common, lastValueVisible: false, crosshairMarkerVisible: false } as const
  const closes = chart.addSeries(LineSeries, { ...line, lineWidth: 2 })
  const averages = chart.addSeries(LineSeries, { ...line, color: color('--violet'), lineWidth: 2 })
  closes.createPriceLine({ price: 0, color: color('--muted'), lineStyle: LineStyle.Solid, lineWidth: 1 })
  const averageLine = closes.createPriceLine({
    price: 0,
    color: color('--accent'),
    lineStyle: LineStyle.Dashed,
    lineWidth: 1,
  })
  return { candles, closes, averages, averageLine }
}

/** All days from edge to edge; few of them in the middle. */
function rangeOf(days: number): { from: number; to: number } {
  const spare = Math.max(0, FEWEST_SLOTS - days) / 2
  return { from: -spare, to: days - 1 + spare }
}

/** Keeps the zero line in view. */
function withZero(original: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = original()
  if (!info?.priceRange) return info
  const { minValue, maxValue } = info.priceRange
  return { ...info, priceRange: { minValue: Math.min(0, minValue), maxValue: Math.max(0, maxValue) } }
}

function toCandle({ date, open_pct: open, high_pct: high, low_pct: low, close_pct: close }: Day) {
  return { time: date, open, high, low, close }
}

/** The current colour of a custom property, in a form that the canvas can read. */
function resolveColor(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`
  const { color } = getComputedStyle(box)
  box.style.color = ''
  return color
}
