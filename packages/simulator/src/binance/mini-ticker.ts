import { acts } from '../faults/faults.ts'
import { hash, keyOf } from '../market/hash.ts'
import type { Prices } from '../market/prices.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { meanVolume } from '../market/trade-tape.ts'
import type { EpochMs, Listing, Trade } from '../market/types.ts'
import type { ExchangeStream } from '../server/connection.ts'
import { decimal } from './symbols.ts'

/** The event time of a frame, and its price. */
export type LastFrame = Pick<Trade, 'at' | 'price'>

export interface StreamFrame {
  readonly stream: string
  readonly data: object
}

const SECOND = 1_000
const DAY = 86_400_000
const NAME = /^([^@A-Z]+)@miniTicker$/

/**
 * What is due on a miniTicker stream; nothing on a stream that is not simulated. `v` is true, `o`, `h`, `l` and
 * `q` have the right shape only.
 * @see docs/exchanges.md#binance-websocket
 */
export function createMiniTickers(exchanges: SimulatedExchanges): ExchangeStream['due'] {
  const rollingVolume = createRollingVolume(exchanges.prices)
  const dataOf = (listing: Listing, { at, price }: LastFrame): object => {
    const { market } = listing
    const target = { exchange: 'binance', market, at } as const
    const c = decimal(exchanges.faults.priceIn(price, target))
    const [o, v] = [decimal(price), decimal(rollingVolume(listing, at))]
    const ticker = { e: '24hrMiniTicker', E: at, s: market, c, o, h: o, l: o, v, q: v }
    return exchanges.faults.alter(ticker, target)
  }
  return (stream, from, to) => {
    const name = NAME.exec(stream)?.[1]
    const listing = name && exchanges.listings.get('binance', name.toUpperCase())
    if (!listing || (listing.coin.binance?.status ?? 'TRADING') !== 'TRADING') return []
    return [...framesOf(exchanges, listing, from, to)].map(frame => ({
      at: frame.at,
      eventAt: frame.at,
      market: listing.market,
      make: (): StreamFrame => ({ stream, data: dataOf(listing, frame) }),
    }))
  }
}

/** Event time and price of the newest miniTicker with `E` before an instant, received by anyone or not. */
export function lastMiniTicker(
  exchanges: SimulatedExchanges,
  market: string,
  before: EpochMs,
): LastFrame | undefined {
  const listing = exchanges.listings.getEver('binance', market)
  if (!listing) return undefined
  const [newest] = framesOf(exchanges, listing, before - DAY, before)
  return newest
}

/** The frames of a market with `E` in [from, to), the newest first. */
function* framesOf(
  exchanges: SimulatedExchanges,
  listing: Listing,
  from: EpochMs,
  to: EpochMs,
): Generator<LastFrame> {
  for (let at = newestInstant(listing, to); at >= from; at -= SECOND) {
    const price = framePrice(exchanges, listing, at)
    if (price !== undefined) yield { at, price }
  }
}

/** The price of a frame, if one is due: a trade came in the second before, or one left the 24-hour window. */
function framePrice({ prices, faults }: SimulatedExchanges, { market }: Listing, at: EpochMs) {
  if (faults.pausesOf('binance', market).some(pause => acts(pause, at))) return undefined
  const traded = (to: EpochMs): boolean => prices.traded('binance', market, to - SECOND, to)
  return traded(at) || traded(at - DAY) ? prices.lastTrade('binance', market, at)?.price : undefined
}

/** The newest instant before `to` for a frame: every market has a millisecond of its own in each second. */
function newestInstant({ market }: Listing, to: EpochMs): EpochMs {
  const phase = hash(keyOf(market), 1) % SECOND
  return Math.ceil((to - phase) / SECOND) * SECOND - SECOND + phase
}

/**
 * The volume of the last 24 hours before `at`, in units of the market. It begins at a typical level; from then on
 * it rises by every trade and falls by every trade that leaves the window, and by nothing else.
 */
function createRollingVolume(prices: Prices): (listing: Listing, at: EpochMs) => number {
  const known = new Map<Listing, { at: EpochMs; volume: number }>()
  const sum = ({ market }: Listing, from: EpochMs, to: EpochMs): number =>
    prices.trades('binance', market, from, to).reduce((total, { volume }) => total + volume, 0)
  return (listing, at) => {
    const before = known.get(listing)
    const typical = listing.tradesPerMinute * 1_440 * meanVolume(listing)
    const isFresh = !before || at < before.at || at - before.at > DAY
    const volume = isFresh
      ? typical
      : before.volume + sum(listing, before.at, at) - sum(listing, before.at - DAY, at - DAY)
    known.set(listing, { at, volume: Math.max(0, volume) })
    return Math.max(0, volume)
  }
}
