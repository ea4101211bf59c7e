import type { Coin } from '@kimchi/core'
import { DEFAULT_COINS, type SimulatedCoin } from '@kimchi/simulator'

/** A coin that is called alike everywhere. */
export function coinOf(symbol: string): Coin {
  return { symbol, name: symbol, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` }
}

/** Coins that agree with each other: a market. */
export const MARKET = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK']

/** The market, and the rate. */
export const MARKET_COINS = inFewFrames([...MARKET, 'USDT'])

/** The simulator's own coins of these names, with no more frames than BTC needs to leave no silence, whatever the date. */
export function inFewFrames(ids: readonly string[]): SimulatedCoin[] {
  const coins = DEFAULT_COINS.filter(({ id }) => ids.includes(id))
  return coins.map(coin => withTrades(coin, usual => (coin.id === 'BTC' ? 240 : Math.min(6, usual))))
}

/** A coin that trades more or less often than usual. */
export function withTrades(
  { upbit, binance, ...coin }: SimulatedCoin,
  perMinute: (usual: number) => number,
): SimulatedCoin {
  return {
    ...coin,
    ...(upbit && { upbit: { ...upbit, tradesPerMinute: perMinute(upbit.tradesPerMinute) } }),
    ...(binance && { binance: { ...binance, tradesPerMinute: perMinute(binance.tradesPerMinute) } }),
  }
}

/** A coin that is on both exchanges at one price. */
export const NEW: SimulatedCoin = {
  id: 'new',
  price: 3.21,
  upbit: { asset: 'NEW', koreanName: '새것', englishName: 'Nouveau ﬁn 币 🚀', tradesPerMinute: 5 },
  binance: { asset: 'NEW', tradesPerMinute: 5 },
}

/** Two coins under one ticker; the price on Upbit is steadily higher by `factor`. */
export function lie(symbol: string, factor: number): SimulatedCoin[] {
  const upbit = { asset: symbol, koreanName: symbol, englishName: `The true ${symbol}`, tradesPerMinute: 5 }
  return [
    { id: `${symbol}-a`, price: 5 * factor, upbit },
    { id: `${symbol}-b`, price: 5, follows: `${symbol}-a`, binance: { asset: symbol, tradesPerMinute: 5 } },
  ]
}
