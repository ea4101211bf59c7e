import type { Exchange, Market, SimulatedCoin } from './types.ts'

/** All simulated markets by exchange and code; coins come and go while the simulator runs. */
export type Markets = ReturnType<typeof createMarkets>

/** Every market of `coins`, in their order. @param speed multiplies the number of trades */
export function createMarkets(coins: readonly SimulatedCoin[], speed = 1) {
  const byCode: Record<Exchange, Map<string, Market>> = { upbit: new Map(), binance: new Map() }
  const delisted = new Set<string>()
  const put = (
    exchange: Exchange,
    code: string,
    coin: SimulatedCoin,
    { base, tradesPerMinute }: { base: string; tradesPerMinute: number },
    multiplier = 1,
  ): void => {
    const market = { exchange, code, base, coin, tradesPerMinute: tradesPerMinute * speed, multiplier }
    byCode[exchange].set(code, market)
  }
  const add = (coin: SimulatedCoin): void => {
    const { upbit, binance } = coin
    if (upbit) put('upbit', `KRW-${upbit.base}`, coin, upbit)
    if (binance) put('binance', `${binance.base}USDT`, coin, binance, binance.multiplier)
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
