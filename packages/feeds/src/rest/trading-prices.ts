import { KimchiError, type Market, REFERENCE_MARKETS } from '@kimchi/core'
import { priceOf } from '../binance.ts'
import { isFields, shown } from '../feed/parse-frame.ts'

/** The markets that trade now, each with its last price where the answer has one that is plausible. */
export type TradingPrices = ReadonlyMap<Market, number | undefined>

/**
 * The prices in Binance's raw answer to `ticker/price?symbolStatus=TRADING`, which leaves out halted and delisted
 * symbols. A list without the reference market is refused: believing a broken one would halt every coin.
 * @throws KimchiError `KIMCHI_ERR_REST`
 * @see docs/exchanges.md#binance-rest
 */
export function parseTradingPrices(answer: unknown): TradingPrices {
  const prices = new Map<Market, number | undefined>()
  for (const entry of Array.isArray(answer) ? answer : []) {
    if (isFields(entry) && typeof entry.symbol === 'string') prices.set(entry.symbol, priceOf(entry.price))
  }
  const expected = REFERENCE_MARKETS.binance
  if (prices.has(expected)) return prices
  const got = Array.isArray(answer) ? `${prices.size} others` : shown(answer)
  throw new KimchiError('KIMCHI_ERR_REST', `binance ticker/price must list ${expected}, got: ${got}`)
}
