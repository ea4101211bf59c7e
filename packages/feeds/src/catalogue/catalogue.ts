import type { Coin } from '@kimchi/core'
import type { BinanceListing, Listings, UpbitListing } from './listings.ts'
import { ALIASES, DENIALS, LEFT_OUT } from './pairs.ts'

/** Which coins to track: every pair that is the same coin, or these symbols in this order. */
export type WantedCoins = 'all' | readonly string[]

/** The coins to track, and why the others are not among them. */
export interface Catalogue {
  readonly coins: readonly Coin[]
  /** Every coin that was wanted and is not tracked. */
  readonly leftOut: readonly { readonly symbol: string; readonly reason: string }[]
}

/** What the exchanges list, and which coins are wanted. */
interface MatchOptions extends Listings {
  readonly wanted: WantedCoins
  /** Symbols of tracked coins, which `all` keeps while Binance halts them. @default none */
  readonly tracked?: readonly string[]
}

/**
 * The coins that are the same on both exchanges, by ticker and by the table in `pairs.ts`.
 *
 * A list keeps its order; `all` is sorted, BTC first, so that every refresh and every ingester has the same
 * order. A coin that Binance halts stays when it is tracked or wanted by name: the feeds notice when it
 * trades.
 * @see docs/exchanges.md#symbol-mapping
 */
export function matchCoins({ upbit, binance, wanted, tracked = [] }: MatchOptions): Catalogue {
  const partners = new Map(binance.map(listing => [listing.asset, listing]))
  const matches = new Map(upbit.map(listing => [listing.asset, matchOne(listing, partners)]))
  const symbols = wanted === 'all' ? sortedAll(matches.keys()) : wanted
  const stays = new Set(tracked)
  const coins: Coin[] = []
  const leftOut: Catalogue['leftOut'][number][] = []
  for (const symbol of symbols) {
    const unlisted: Match = { reason: DENIALS[symbol] ?? 'not on Upbit in KRW' }
    const { coin, reason, isHalted = false } = matches.get(symbol) ?? unlisted
    const isKept = wanted !== 'all' || reason === undefined || (isHalted && stays.has(symbol))
    if (coin !== undefined && isKept) coins.push(coin)
    else if (reason !== undefined) leftOut.push({ symbol, reason })
  }
  return { coins, leftOut }
}

/** A pair that exists on both exchanges, why it is not tracked, or both. */
interface Match {
  readonly coin?: Coin
  readonly reason?: string | undefined
  /** Whether Binance halts it now, so that it may trade again. */
  readonly isHalted?: boolean
}

/** The inverse of ALIASES: Upbit's ticker of a coin by Binance's. */
const OWNERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ALIASES).map(([symbol, ticker]) => [ticker, symbol]),
)

function matchOne(
  { market, asset: symbol, name }: UpbitListing,
  partners: ReadonlyMap<string, BinanceListing>,
): Match {
  // A symbol is a path segment of the public API.
  if (!/^[A-Z0-9]{1,20}$/.test(symbol)) return { reason: 'its ticker is not A–Z and 0–9' }
  const denial = DENIALS[symbol]
  if (denial !== undefined) return { reason: denial }
  const owner = OWNERS[symbol]
  if (owner !== undefined) return { reason: `${symbol} on Binance is what Upbit calls ${owner}` }
  const ticker = ALIASES[symbol] ?? symbol
  const partner = partners.get(ticker)
  if (partner === undefined) return { reason: `Binance has no ${ticker}USDT` }
  const coin = { symbol, name, upbit: market, binance: partner.market }
  if (!partner.trading) return { coin, reason: `${ticker}USDT does not trade on Binance`, isHalted: true }
  return { coin, reason: LEFT_OUT[symbol] }
}

/** BTC first, then by symbol. */
function sortedAll(symbols: Iterable<string>): string[] {
  const rank = (symbol: string) => (symbol === 'BTC' ? 0 : 1)
  return [...symbols].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}
