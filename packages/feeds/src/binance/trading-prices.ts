import { type Context, isPrice, KimchiError, type Market, REFERENCE_MARKETS } from '@kimchi/core'
import type { Bases } from '../bases.ts'
import { perCoinPrice } from '../catalogue/pairs.ts'
import { isFields, shown } from '../feed/frame.ts'
import { HttpError } from '../feed/http-error.ts'
import type { TradingPrices } from '../feed/trading-status.ts'
import { getJson, NAME } from '../http.ts'
import { isDecimal } from './decoder.ts'

const PATH = '/api/v3/ticker/price'

/** How Binance is asked. */
export interface TradingPricesOptions {
  /** The part before `/api/v3`. */
  readonly bases: Bases
  /** @default our name without version and address */
  readonly userAgent?: string
  /** The symbols that trade by exchangeInfo, for a Binance that refuses `symbolStatus`. */
  readonly fetchTrading: (signal: AbortSignal) => Promise<ReadonlySet<Market>>
}

/**
 * Asks Binance which symbols trade now, and at what price: one REST call of weight 4. A symbol that is halted
 * or delisted is absent from the response. Where Binance refuses the parameter `symbolStatus`, the statuses
 * of exchangeInfo count instead.
 * @returns a function that rejects with an HttpError for a non-2xx response, and with `KIMCHI_ERR_REST` for
 *   anything else
 * @see docs/exchanges.md#binance-rest
 */
export function binanceTradingPrices(
  { bases, userAgent = NAME, fetchTrading }: TradingPricesOptions,
  { clock }: Pick<Context, 'clock'>,
): (signal: AbortSignal) => Promise<TradingPrices> {
  const get = (query: string, signal: AbortSignal) =>
    bases.request(async base => {
      const { json } = await getJson(
        `${base}${PATH}${query}`,
        { exchange: 'binance', userAgent, signal },
        clock,
      )
      return json
    })
  return async signal => {
    try {
      return pricesOf(await get('?symbolStatus=TRADING', signal))
    } catch (error) {
      if (!(error instanceof HttpError) || error.status !== 400) throw error
      const [trading, json] = await Promise.all([fetchTrading(signal), get('', signal)])
      return new Map([...pricesOf(json)].filter(([market]) => trading.has(market)))
    }
  }
}

/** Without the reference market it is no list of what trades; to believe it would halt every coin. */
function pricesOf(response: unknown): TradingPrices {
  const prices = new Map<Market, number | undefined>()
  for (const entry of Array.isArray(response) ? response : []) {
    if (isFields(entry) && typeof entry.symbol === 'string')
      prices.set(entry.symbol, priceOf(entry.symbol, entry.price))
  }
  const missing = REFERENCE_MARKETS.binance.find(market => !prices.has(market))
  if (missing === undefined) return prices
  throw new KimchiError(
    'KIMCHI_ERR_REST',
    `binance GET ${PATH} must list ${missing}, got: ${Array.isArray(response) ? `${prices.size} others` : shown(response)}`,
  )
}

function priceOf(market: Market, text: unknown): number | undefined {
  const price = isDecimal(text) ? perCoinPrice(market, Number(text)) : undefined
  return isPrice(price) ? price : undefined
}
