import {
  type EpochMinute,
  type GapReason,
  type Leg,
  minuteStart,
  type Sample,
  sampleOrGap,
} from '@kimchi/core'
import type { CandleSeries } from './candle-series.ts'

/** The candles that decide about one coin: its two markets, the rate, and the two markets that always trade. */
export interface CandleLegs {
  readonly upbit: CandleSeries
  readonly binance: CandleSeries
  readonly rate: CandleSeries
  readonly upbitWitness: CandleSeries
  readonly binanceWitness: CandleSeries
}

/**
 * One coin's sample of minute M from one-minute candles, by the same decision as the live one: the closes of the candles
 * that open at M − 60 s, an Upbit close carried over minutes without trades for as long as a live price would be.
 * @see docs/architecture.md#samples-and-gaps
 */
export function candleSampleOrGap(symbol: string, minute: EpochMinute, legs: CandleLegs): Sample | GapReason {
  const open = minute - 1
  return sampleOrGap(symbol, minute, 'candle', {
    upbitUp: [legs.upbit, legs.rate, legs.upbitWitness].some(series => series.at(open) !== undefined),
    binanceUp: [legs.binance, legs.binanceWitness].some(series => (series.at(open)?.[2] ?? 0) > 0),
    upbit: carriedLeg(legs.upbit, minute),
    rate: carriedLeg(legs.rate, minute),
    binance: exactLeg(legs.binance, open),
  })
}

/**
 * The candle's start stands for its last trade: minutes are whole, so "at most 60 minutes before M" decides the same for
 * both.
 */
function carriedLeg(series: CandleSeries, minute: EpochMinute): Leg | undefined {
  const candle = series.lastBefore(minute)
  if (candle === undefined) return undefined
  const [openMinute, close] = candle
  return { price: close, tradedAt: minuteStart(openMinute), tradable: true }
}

/** Binance writes a candle for every minute in which its engine runs; a missing one means it did not. */
function exactLeg(series: CandleSeries, open: EpochMinute): Leg | undefined {
  const candle = series.at(open)
  return candle && { price: candle[1], tradedAt: minuteStart(open), tradable: true }
}
