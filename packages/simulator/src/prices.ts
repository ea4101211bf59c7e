import { foldCandle } from './candles.ts'
import type { Markets } from './markets.ts'
import { priceWalks } from './price-walk.ts'
import { createTape, type TradeTape } from './trades.ts'
import type { Candle, EpochMs, Exchange, Market, Milliseconds, Trade } from './types.ts'

/** Every price of the simulated world as a pure function of (seed, market, time). */
export interface Prices {
  /** Trades with from ≤ at < to, in time order; empty for an unknown market. */
  trades(exchange: Exchange, market: string, from: EpochMs, to: EpochMs): Trade[]
  /** The newest trade with at < before. */
  lastTrade(exchange: Exchange, market: string, before: EpochMs): Trade | undefined
  /** Whether a trade lies in [from, to). */
  traded(exchange: Exchange, market: string, from: EpochMs, to: EpochMs): boolean
  /** The fold of the trades in [openTime, openTime + lengthMs); undefined when there was none. @param lengthMs default one minute */
  candle(exchange: Exchange, market: string, openTime: EpochMs, lengthMs?: Milliseconds): Candle | undefined
}

/** The prices of `seed` for the given markets. @param speed multiplies the number of trades */
export function createPrices(seed: string, markets: Markets, speed: number): Prices {
  const walks = priceWalks(seed)
  const tapes = new Map<Market, TradeTape>()
  const tape = (exchange: Exchange, code: string): TradeTape | undefined => {
    const market = markets.get(exchange, code)
    if (!market) return undefined
    const known = tapes.get(market)
    if (known) return known
    const made = createTape(seed, market, walks, speed)
    tapes.set(market, made)
    return made
  }
  return {
    trades: (exchange, market, from, to) => tape(exchange, market)?.between(from, to) ?? [],
    lastTrade: (exchange, market, before) => tape(exchange, market)?.lastBefore(before),
    traded: (exchange, market, from, to) => tape(exchange, market)?.anyBetween(from, to) ?? false,
    candle: (exchange, market, openTime, lengthMs = 60_000) =>
      foldCandle(openTime, tape(exchange, market)?.between(openTime, openTime + lengthMs) ?? []),
  }
}
