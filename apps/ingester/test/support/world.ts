import { type EpochMinute, type EpochMs, type Exchange, MINUTE_MS, minuteStart } from '@kimchi/core'
import type { Prices, Trade } from '@kimchi/simulator'

/** A stretch of time in which an exchange did not trade: no frame tells of a price, and candles have a hole. */
export interface Outage {
  readonly exchange: Exchange
  readonly from: EpochMs
  /** Not included. */
  readonly to: EpochMs
}

/** One minute of a market as the fold of its trades. */
export interface WorldCandle {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
}

/** What really happened: the simulator's trades without those that an outage prevented. */
export interface World {
  /** Trades with from ≤ at < to, in time order. */
  trades(exchange: Exchange, market: string, from: EpochMs, to: EpochMs): Trade[]
  /** The newest trade with at < before. */
  lastTrade(exchange: Exchange, market: string, before: EpochMs): Trade | undefined
  /** The candle that opens at a minute, or undefined when nothing traded in it. */
  candle(exchange: Exchange, market: string, openMinute: EpochMinute): WorldCandle | undefined
}

/** The world that a simulator's prices and some outages make. */
export function worldOf(prices: Prices, outages: readonly Outage[] = []): World {
  const during = (exchange: Exchange, at: EpochMs): Outage | undefined =>
    outages.find(outage => outage.exchange === exchange && at >= outage.from && at < outage.to)
  const trades: World['trades'] = (exchange, market, from, to) =>
    prices.trades(exchange, market, from, to).filter(({ at }) => during(exchange, at) === undefined)
  return {
    trades,
    lastTrade: (exchange, market, before) => {
      let last = prices.lastTrade(exchange, market, before)
      for (
        let outage = last && during(exchange, last.at);
        last && outage;
        outage = during(exchange, last.at)
      ) {
        last = prices.lastTrade(exchange, market, outage.from)
        if (last === undefined) break
      }
      return last
    },
    candle: (exchange, market, openMinute) => {
      const start = minuteStart(openMinute)
      const found = trades(exchange, market, start, start + MINUTE_MS)
      const [first, last] = [found[0], found.at(-1)]
      if (first === undefined || last === undefined) return undefined
      const levels = found.map(({ price }) => price)
      return {
        open: first.price,
        high: Math.max(...levels),
        low: Math.min(...levels),
        close: last.price,
        volume: found.reduce((sum, { volume }) => sum + volume, 0),
      }
    },
  }
}
