import {
  type EpochMinute,
  type GapReason,
  type Leg,
  minuteStart,
  type Sample,
  sampleOrGap,
} from '@kimchi/core'
import type { CandleSeries } from './candle-series.ts'

/**
 * The candles that decide about one coin: its two markets, the rate, and the two markets that always trade.
 */
export interface CandleLegs {
  readonly upbit: CandleSeries
  readonly binance: CandleSeries
  readonly rate: CandleSeries
  readonly upbitReference: CandleSeries
  readonly binanceReference: CandleSeries
}

/**
 * One coin's sample of minute M from one-minute candles, by the same decision as the live one: the closes of
 * the last candles with a trade that open before M, carried for as long as a live price would be.
 * @see docs/architecture.md#samples-and-gaps
 */
export function candleSampleOrGap(symbol: string, minute: EpochMinute, legs: CandleLegs): Sample | GapReason {
  const open = minute - 1
  return sampleOrGap(symbol, minute, 'candle', {
    upbitUp: [legs.upbit, legs.rate, legs.upbitReference].some(series => series.traded(open)),
    binanceUp: [legs.binance, legs.binanceReference].some(series => series.traded(open)),
    upbit: carriedLeg(legs.upbit, minute),
    rate: carriedLeg(legs.rate, minute),
    binance: carriedLeg(legs.binance, minute),
  })
}

/**
 * The candle's start stands for its last trade: minutes are whole, so "at most 60 minutes before M" decides
 * the same for both.
 */
function carriedLeg(series: CandleSeries, minute: EpochMinute): Leg | undefined {
  const candle = series.lastTradedBefore(minute)
  if (candle === undefined) return undefined
  const [openMinute, close] = candle
  return { price: close, tradedAt: minuteStart(openMinute), tradable: true }
}
