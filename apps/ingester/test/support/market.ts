import { DEFAULT_COINS, type SimulatedCoin } from '@kimchi/simulator'

/** Coins that agree with each other: a market. */
export const MARKET = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK']

/** The market, and the rate. */
export const MARKET_COINS = DEFAULT_COINS.filter(({ id }) => [...MARKET, 'USDT'].includes(id))

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
