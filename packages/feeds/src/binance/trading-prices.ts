import { type Context, isPrice, KimchiError, type Market, REFERENCE_MARKETS } from '@kimchi/core'
import type { Bases } from '../bases.ts'
import { isFields, shown } from '../feed/frame.ts'
import type { TradingPrices } from '../feed/trading-status.ts'
import { getJson, NAME } from '../http.ts'
import { isDecimal } from './decoder.ts'

const PATH = '/api/v3/ticker/price'
const QUERY = '?symbolStatus=TRADING'

/** How to ask Binance. */
export interface TradingPricesOptions {
  /** The part before `/api/v3`. */
  readonly bases: Bases
  /** Our name in each request. @default without version and address */
  readonly userAgent?: string
}

/**
 * Asks Binance which symbols trade now, and at what price, by one REST call of weight 4, whose answer leaves
 * out halted and delisted symbols.
 * @returns a function that rejects with an HttpError for a non-2xx response, and with `KIMCHI_ERR_REST` for
 *   anything else
 * @see docs/exchanges.md#binance-rest
 */
export function binanceTradingPrices(
  { bases, userAgent = NAME }: TradingPricesOptions,
  { clock }: Pick<Context, 'clock'>,
): (signal: AbortSignal) => Promise<TradingPrices> {
  return signal => {
    const request = { exchange: 'binance', userAgent, signal } as const
    return bases.request(
      async base => pricesOf((await getJson(`${base}${PATH}${QUERY}`, request, clock)).json),
      signal,
    )
  }
}

/** Refuses a list without the reference market: believing a broken list would halt every coin. */
function pricesOf(response: unknown): TradingPrices {
  const prices = new Map<Market, number | undefined>()
  for (const entry of Array.isArray(response) ? response : []) {
    if (isFields(entry) && typeof entry.symbol === 'string') prices.set(entry.symbol, priceOf(entry.price))
  }
  const expected = REFERENCE_MARKETS.binance
  if (prices.has(expected)) return prices
  const got = Array.isArray(response) ? `${prices.size} others` : shown(response)
  throw new KimchiError('KIMCHI_ERR_REST', `binance GET ${PATH} must list ${expected}, got: ${got}`)
}

function priceOf(text: unknown): number | undefined {
  const price = isDecimal(text) ? Number(text) : undefined
  return isPrice(price) ? price : undefined
}
