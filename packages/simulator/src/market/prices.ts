import { acts, type Faults } from '../faults/faults.ts'
import { foldCandle } from './candle.ts'
import type { Listings } from './listings.ts'
import { priceWalks } from './price-walk.ts'
import { createTape, type TradeTape } from './trade-tape.ts'
import type { EpochMs, Exchange, Listing, Trade } from './types.ts'

/**
 * What both exchanges traded: a pure function of (seed, market, time), less what halts and outages prevented, at prices
 * that faults may have moved.
 */
export type Prices = ReturnType<typeof createPrices>

const MINUTE = 60_000

/** The same seed gives the same trades; those within a fault's pause are left out. */
export function createPrices(seed: string, listings: Listings, faults: Pick<Faults, 'pausesOf' | 'movesOf'>) {
  const walks = priceWalks(seed)
  const tapes = new Map<Listing, TradeTape>()
  const tapeOf = (exchange: Exchange, market: string): TradeTape | undefined => {
    const listing = listings.getEver(exchange, market)
    if (!listing) return undefined
    const known = tapes.get(listing) ?? createTape(seed, listing, walks)
    tapes.set(listing, known)
    return known
  }
  /** Trades with from ≤ at < to, in time order; empty for an unknown market. */
  const trades = (exchange: Exchange, market: string, from: EpochMs, to: EpochMs): readonly Trade[] => {
    const all = tapeOf(exchange, market)?.between(from, to, faults.movesOf(exchange, market)) ?? []
    const pauses = faults.pausesOf(exchange, market)
    return all.filter(({ at }) => !pauses.some(pause => acts(pause, at)))
  }
  /** The newest trade with at < before. */
  const lastTrade = (exchange: Exchange, market: string, before: EpochMs): Trade | undefined => {
    const last = tapeOf(exchange, market)?.lastBefore(before, faults.movesOf(exchange, market))
    const pause = last && faults.pausesOf(exchange, market).find(pause => acts(pause, last.at))
    return pause ? lastTrade(exchange, market, pause.from) : last
  }
  return {
    trades,
    lastTrade,
    /** Whether a trade lies in [from, to). */
    traded: (exchange: Exchange, market: string, from: EpochMs, to: EpochMs) =>
      (lastTrade(exchange, market, to)?.at ?? Number.NEGATIVE_INFINITY) >= from,
    /** The fold of a minute's trades, or of those before `until`; undefined when there was none. */
    candle: (exchange: Exchange, market: string, openTime: EpochMs, until = Number.POSITIVE_INFINITY) =>
      foldCandle(openTime, trades(exchange, market, openTime, Math.min(openTime + MINUTE, until))),
  }
}
