import { keyOf } from './hash.ts'
import type { Prices } from './prices.ts'
import type { EpochMs, Market, Trade } from './types.ts'

/** The 24-hour figures of a market at one instant, in its quote currency and base coin. */
export interface DayStats {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly volume: number
  readonly quoteVolume: number
  /** Number of trades in 24 hours. */
  readonly trades: number
}

interface Range {
  readonly quarter: number
  readonly open: number
  readonly high: number
  readonly low: number
}

const QUARTER = 900_000
const DAY = 86_400_000

/**
 * 24-hour figures at `at`, given the last trade before it. They are plausible and follow from (market, time), but are
 * made from a price every quarter of an hour, not from every trade.
 */
export function createDayStats(prices: Prices): (market: Market, at: EpochMs, last: Trade) => DayStats {
  const ranges = new Map<Market, Range>()
  return (market, at, last) => {
    const quarter = Math.floor(at / QUARTER)
    let range = ranges.get(market)
    if (range?.quarter !== quarter) {
      range = rangeOf(prices, market, quarter)
      ranges.set(market, range)
    }
    const perDay = market.tradesPerMinute * 1_440
    const wave = 1 + 0.1 * Math.sin(at / 9_000_000 + keyOf(market.code))
    const quoteVolume = perDay * (220 / market.coin.price) * last.price * wave
    return {
      open: range.open,
      high: Math.max(range.high, last.price),
      low: Math.min(range.low, last.price),
      volume: quoteVolume / last.price,
      quoteVolume,
      trades: Math.round(perDay * wave),
    }
  }
}

function rangeOf(prices: Prices, market: Market, quarter: number): Range {
  let high = 0
  let low = Number.POSITIVE_INFINITY
  let open = 0
  for (let at = quarter * QUARTER - DAY; at <= quarter * QUARTER; at += QUARTER) {
    const price = prices.lastTrade(market.exchange, market.code, at)?.price
    if (price === undefined) continue
    if (open === 0) open = price
    high = Math.max(high, price)
    low = Math.min(low, price)
  }
  return { quarter, open, high, low }
}
