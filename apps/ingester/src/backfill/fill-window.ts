import {
  type Coin,
  type EpochMinute,
  type Gap,
  MAX_CARRY_MS,
  MINUTE_MS,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Sample,
} from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'
import type { CandleCache } from './candle-cache.ts'
import { type CandleLegs, candleSampleOrGap } from './candle-samples.ts'
import type { CandleSeries } from './candle-series.ts'

const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS
const [UPBIT_WITNESS = RATE_MARKET] = REFERENCE_MARKETS.upbit
const [BINANCE_WITNESS = ''] = REFERENCE_MARKETS.binance

/** What candles say about some minutes of a coin: each is a sample or a gap. */
export interface Filled {
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gap[]
}

/** Decides the given minutes of one coin, all within `window`, from candles. */
export async function fillWindow(
  coin: Coin,
  minutes: readonly EpochMinute[],
  window: MinuteRange,
  cache: CandleCache,
): Promise<Filled> {
  const legs = await loadLegs(coin, window, cache)
  cache.leave(window)
  const samples: Sample[] = []
  const gaps: Gap[] = []
  for (const minute of minutes) {
    const outcome = candleSampleOrGap(coin.symbol, minute, legs)
    if (typeof outcome === 'string') gaps.push({ symbol: coin.symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { samples, gaps }
}

/** The sample of M needs the candles that open one minute earlier. The two exchanges are asked side by side. */
async function loadLegs(coin: Coin, window: MinuteRange, cache: CandleCache): Promise<CandleLegs> {
  const opens = { start: window.start - 1, end: window.end - 1 }
  const fromUpbit = async () => ({
    rate: await carriedSeries(RATE_MARKET, opens, cache),
    upbitWitness: await cache.series('upbit', UPBIT_WITNESS, opens),
    upbit: await carriedSeries(coin.upbit, opens, cache),
  })
  const fromBinance = async () => ({
    binanceWitness: await cache.series('binance', BINANCE_WITNESS, opens),
    binance: await cache.series('binance', coin.binance, opens),
  })
  const [upbit, binance] = await Promise.all([fromUpbit(), fromBinance()])
  return { ...upbit, ...binance }
}

/** The hour before is only fetched when the first minute has no trade of its own to carry. */
async function carriedSeries(market: string, opens: MinuteRange, cache: CandleCache): Promise<CandleSeries> {
  const series = await cache.series('upbit', market, opens)
  if (series.at(opens.start) !== undefined) return series
  return cache.series('upbit', market, { start: opens.start - CARRY_MINUTES, end: opens.end })
}
