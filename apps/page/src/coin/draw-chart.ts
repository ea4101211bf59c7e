import {
  type AutoscaleInfo,
  CandlestickSeries,
  createChart,
  type IChartApi,
  LineSeries,
  LineStyle,
  type MouseEventParams,
} from 'lightweight-charts'
import type { Words } from '../text/language.ts'
import type { Day } from './days.ts'

/** Few days stand at the right, no wider than this each. */
const WIDEST_SLOT_PX = 150
/** Narrower candles merge, so the closes are drawn as a line instead. */
const NARROWEST_CANDLE_PX = 3

export interface Drawing {
  readonly days: readonly Day[]
  /** The places of the axis; one without a day stays empty. */
  readonly dates: readonly string[]
  /** Mean of all minutes in percent, drawn as a dashed line. */
  readonly average: number
}

/**
 * Opens a candle chart with a zero line. The library's logo would add a style element, which the policy of
 * the page refuses; the caption names the library instead.
 * @param onPoint called with the date under the pointer, or that is tapped
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
    // At a fixed edge the library draws a label whole.
    timeScale: { borderVisible: false, fixLeftEdge: true, fixRightEdge: true, maxBarSpacing: WIDEST_SLOT_PX },
    localization: {
      locale: language,
      priceFormatter: (value: number) => `${f.signed(value)}%`,
      dateFormat: 'yyyy-MM-dd',
    },
    handleScroll: { vertTouchDrag: false, mouseWheel: false },
    handleScale: { mouseWheel: false },
  })
  const { candles, closes, averageLine } = addSeries(chart, color)
  const timeScale = chart.timeScale()
  timeScale.subscribeVisibleLogicalRangeChange(range => {
    if (!range) return
    const isNarrow = timeScale.width() / (range.to - range.from) < NARROWEST_CANDLE_PX
    candles.applyOptions({ visible: !isNarrow })
    closes.applyOptions({ color: isNarrow ? color('--text') : 'transparent' })
    box.dataset.style = isNarrow ? 'line' : 'candles'
  })
  const follow = ({ time }: MouseEventParams) => onPoint(typeof time === 'string' ? time : undefined)
  chart.subscribeCrosshairMove(follow)
  chart.subscribeClick(follow)
  let shown = 0
  return {
    /** Shows these days; fits the view when the number of places changes. */
    draw: ({ days, dates, average }: Drawing) => {
      const known = new Map(days.map(day => [day.date, day]))
      // A point's colour is that of the line to the next one, which must not bridge a hole.
      const isBeforeHole = (index: number) => !known.has(dates[index + 1] ?? '')
      candles.setData(dates.map(date => toCandle(known.get(date) ?? { date })))
      closes.setData(
        dates.map((date, index) => {
          const value = known.get(date)?.close_pct
          if (value === undefined) return { time: date }
          return { time: date, value, ...(isBeforeHole(index) && { color: 'transparent' }) }
        }),
      )
      averageLine.applyOptions({ price: average })
      if (dates.length !== shown) timeScale.fitContent()
      shown = dates.length
    },
    /** Puts the crosshair on a day, or takes it away. */
    pointAt: (day: Day | undefined) =>
      day ? chart.setCrosshairPosition(day.close_pct, day.date, closes) : chart.clearCrosshairPosition(),
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
  const line = { lastValueVisible: false, crosshairMarkerVisible: false, lineWidth: 2 } as const
  const closes = chart.addSeries(LineSeries, { ...common, ...line })
  closes.createPriceLine({ price: 0, color: color('--muted'), lineStyle: LineStyle.Solid, lineWidth: 1 })
  const averageLine = closes.createPriceLine({
    price: 0,
    color: color('--accent'),
    lineStyle: LineStyle.Dashed,
    lineWidth: 1,
  })
  return { candles, closes, averageLine }
}

/** Keeps the zero line in view. */
function withZero(original: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = original()
  if (!info?.priceRange) return info
  const { minValue, maxValue } = info.priceRange
  return { ...info, priceRange: { minValue: Math.min(0, minValue), maxValue: Math.max(0, maxValue) } }
}

function toCandle(day: Day | { date: string }) {
  if (!('open_pct' in day)) return { time: day.date }
  const { date: time, open_pct: open, high_pct: high, low_pct: low, close_pct: close } = day
  return { time, open, high, low, close }
}

/** The current colour of a custom property, in a form that the canvas can read. */
function resolveColor(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`
  const { color } = getComputedStyle(box)
  box.style.color = ''
  return color
}
