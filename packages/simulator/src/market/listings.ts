import type { Exchange, Listing, SimulatedCoin } from './types.ts'

/** Every listing of both exchanges; coins come and go while the simulator runs. */
export type Listings = ReturnType<typeof createListings>

/** The listings of `coins`, in their order. @param speed multiplies the number of trades */
export function createListings(coins: readonly SimulatedCoin[], speed = 1) {
  const byMarket: Record<Exchange, Map<string, Listing>> = { upbit: new Map(), binance: new Map() }
  const delisted = new Set<string>()
  const put = (coin: SimulatedCoin, listing: Omit<Listing, 'coin'>): void => {
    const tradesPerMinute = listing.tradesPerMinute * speed
    byMarket[listing.exchange].set(listing.market, { ...listing, coin, tradesPerMinute })
  }
  const add = (coin: SimulatedCoin): void => {
    const { upbit, binance } = coin
    if (upbit) put(coin, { exchange: 'upbit', market: `KRW-${upbit.asset}`, ...upbit })
    if (binance) put(coin, { exchange: 'binance', market: `${binance.asset}USDT`, ...binance })
  }
  coins.forEach(add)
  return {
    /** The listing of a market, when the exchange lists it. */
    get: (exchange: Exchange, market: string) =>
      delisted.has(market) ? undefined : byMarket[exchange].get(market),
    /** The listing of a market, also of one that was delisted. */
    getEver: (exchange: Exchange, market: string) => byMarket[exchange].get(market),
    all: (exchange: Exchange) =>
      [...byMarket[exchange].values()].filter(({ market }) => !delisted.has(market)),
    /** Adds the coin's listings, in place of those of the same markets. */
    add,
    /** Takes a market from the lists; the returned function brings it back. */
    delist(market: string): () => void {
      delisted.add(market)
      return () => void delisted.delete(market)
    },
  }
}
