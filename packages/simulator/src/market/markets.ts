import { usdtTickSize } from './tick-size.ts'
import type { Exchange, Market, SimulatedCoin } from './types.ts'

/** All simulated markets by exchange and code; coins come and go while the simulator runs. */
export type Markets = ReturnType<typeof createMarkets>

/** Every market of `coins`, in their order. @param speed multiplies the number of trades */
export function createMarkets(coins: readonly SimulatedCoin[], speed = 1) {
  const byCode: Record<Exchange, Map<string, Market>> = { upbit: new Map(), binance: new Map() }
  const delisted = new Set<string>()
  const add = (coin: SimulatedCoin): void => {
    for (const market of marketsOf(coin, speed)) byCode[market.exchange].set(market.code, market)
  }
  coins.forEach(add)
  return {
    /** The market of that code, listed or delisted. */
    get: (exchange: Exchange, code: string) => byCode[exchange].get(code),
    /** The market of that code, when the exchange lists it. */
    listed: (exchange: Exchange, code: string) =>
      delisted.has(code) ? undefined : byCode[exchange].get(code),
    /** Every market that the exchange lists. */
    all: (exchange: Exchange) => [...byCode[exchange].values()].filter(({ code }) => !delisted.has(code)),
    /** Adds the coin's markets, replacing those with the same code. */
    add,
    /** Takes a market from the lists; the returned function brings it back. */
    delist(code: string): () => void {
      delisted.add(code)
      return () => void delisted.delete(code)
    },
  }
}

function marketsOf(coin: SimulatedCoin, speed: number): Market[] {
  const { upbit, binance } = coin
  const markets: Market[] = []
  if (upbit) {
    const { base } = upbit
    const fixed = { exchange: 'upbit', quote: 'KRW', coin, tickSize: 0, multiplier: 1 } as const
    markets.push({ ...fixed, code: `KRW-${base}`, base, tradesPerMinute: upbit.tradesPerMinute * speed })
  }
  if (binance) {
    const { base, multiplier = 1 } = binance
    const tickSize = usdtTickSize(coin.price * multiplier)
    const fixed = { exchange: 'binance', quote: 'USDT', coin, multiplier, tickSize } as const
    markets.push({ ...fixed, code: `${base}USDT`, base, tradesPerMinute: binance.tradesPerMinute * speed })
  }
  return markets
}
