import type { Faults } from '../faults/faults.ts'
import type { Listings } from './listings.ts'
import { priceWalks } from './price-walk.ts'
import { createTape, type TradeTape } from './trades.ts'
import type { EpochMs, Exchange, Listing, Trade } from './types.ts'

/** What both exchanges traded: a pure function of (seed, market, time), less what halts and outages prevented. */
export type Prices = ReturnType<typeof createPrices>

/** The fold of a minute's trades. `volume` is in the base coin, `quoteVolume` in the quote currency. */
export type Candle = NonNullable<ReturnType<typeof foldCandle>>

const MINUTE = 60_000

/** The prices of `seed` for the given listings. */
export function createPrices(seed: string, listings: Listings, faults: Pick<Faults, 'pauseAt'>) {
  const walks = priceWalks(seed)
  const pausedSince = (exchange: Exchange, market: string, at: EpochMs): EpochMs | undefined =>
    faults.pauseAt({ exchange, market, at })?.from
  const tapes = new Map<Listing, TradeTape>()
  const tape = (exchange: Exchange, market: string): TradeTape | undefined => {
    const listing = listings.getEver(exchange, market)
    if (!listing) return undefined
    const known = tapes.get(listing) ?? createTape(seed, listing, walks)
    tapes.set(listing, known)
    return known
  }
  /** Trades with from ≤ at < to, in time order; empty for an unknown market. */
  const trades = (exchange: Exchange, market: string, from: EpochMs, to: EpochMs): Trade[] => {
    const all = tape(exchange, market)?.between(from, to) ?? []
    return all.filter(({ at }) => pausedSince(exchange, market, at) === undefined)
  }
  /** The newest trade with at < before. */
  const lastTrade = (exchange: Exchange, market: string, before: EpochMs): Trade | undefined => {
    const last = tape(exchange, market)?.lastBefore(before)
    const since = last && pausedSince(exchange, market, last.at)
    return since === undefined ? last : lastTrade(exchange, market, since)
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

/** The candle of `trades`, which are in time order; undefined when there is none. */
function foldCandle(openTime: EpochMs, trades: readonly Trade[]) {
  const first = trades[0]
  if (!first) return undefined
  let { price: high, price: low } = first
  let last = first
  let volume = 0
  let quoteVolume = 0
  for (const trade of trades) {
    if (trade.price > high) high = trade.price
    if (trade.price < low) low = trade.price
    volume += trade.volume
    quoteVolume += trade.volume * trade.price
    last = trade
  }
  const prices = { open: first.price, high, low, close: last.price }
  return { openTime, ...prices, volume, quoteVolume, trades: trades.length, lastTradeAt: last.at }
}
