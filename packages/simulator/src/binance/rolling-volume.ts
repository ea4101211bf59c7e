import type { Prices } from '../market/prices.ts'
import { meanVolume } from '../market/trades.ts'
import type { EpochMs, Market } from '../market/types.ts'

const DAY = 86_400_000

/**
 * The volume of the last 24 hours before `at`, in the base coin. It begins at a typical level; from then on
 * it rises by every trade and falls by every trade that leaves the window, and by nothing else.
 */
export function createRollingVolume(prices: Prices): (market: Market, at: EpochMs) => number {
  const known = new Map<Market, { at: EpochMs; volume: number }>()
  const sum = (market: Market, from: EpochMs, to: EpochMs): number =>
    prices.trades('binance', market.code, from, to).reduce((total, { volume }) => total + volume, 0)
  return (market, at) => {
    const before = known.get(market)
    const typical = market.tradesPerMinute * 1_440 * meanVolume(market)
    const isFresh = !before || at < before.at || at - before.at > DAY
    const volume = isFresh
      ? typical
      : before.volume + sum(market, before.at, at) - sum(market, before.at - DAY, at - DAY)
    known.set(market, { at, volume: Math.max(0, volume) })
    return Math.max(0, volume)
  }
}
