import { usdtTickSize } from './tick-size.ts'
import type { Exchange, Market, SimulatedCoin } from './types.ts'

/** The markets of the simulated world by exchange and code; coins may come while it runs. */
export interface Markets {
  get(exchange: Exchange, code: string): Market | undefined
  all(exchange: Exchange): readonly Market[]
  /** Adds the coin's markets, replacing those with the same code. */
  add(coin: SimulatedCoin): void
}

/** Every market of `coins`, in their order. */
export function createMarkets(coins: readonly SimulatedCoin[]): Markets {
  const byCode: Record<Exchange, Map<string, Market>> = { upbit: new Map(), binance: new Map() }
  const add = (coin: SimulatedCoin): void => {
    for (const market of marketsOf(coin)) byCode[market.exchange].set(market.code, market)
  }
  coins.forEach(add)
  return {
    get: (exchange, code) => byCode[exchange].get(code),
    all: exchange => [...byCode[exchange].values()],
    add,
  }
}

function marketsOf(coin: SimulatedCoin): Market[] {
  const { upbit, binance } = coin
  const markets: Market[] = []
  if (upbit) {
    const { base, tradesPerMinute, listedAt = 0 } = upbit
    const fixed = { exchange: 'upbit', quote: 'KRW', coin, tickSize: 0, multiplier: 1 } as const
    markets.push({ ...fixed, code: `KRW-${base}`, base, tradesPerMinute, listedAt })
  }
  if (binance) {
    const { base, tradesPerMinute, listedAt = 0, multiplier = 1 } = binance
    const tickSize = binance.tickSize ?? usdtTickSize(coin.price * multiplier)
    const fixed = { exchange: 'binance', quote: 'USDT', coin } as const
    markets.push({ ...fixed, code: `${base}USDT`, base, tradesPerMinute, listedAt, multiplier, tickSize })
  }
  return markets
}
