import type { EpochMs, Trade } from './types.ts'

/** The fold of a minute's trades. `volume` is in units of the market, `quoteVolume` in won or USDT. */
export type Candle = NonNullable<ReturnType<typeof foldCandle>>

/** The candle of `trades`, which are in time order; undefined when there is none. */
export function foldCandle(openTime: EpochMs, trades: readonly Trade[]) {
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
