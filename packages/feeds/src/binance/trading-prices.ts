import {
  type Context,
  isPrice,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import { perCoinPrice } from '../catalogue/pairs.ts'
import type { AskTradingPrices } from '../feed/feed.ts'
import { isFields, shown } from '../feed/frame.ts'
import { httpErrorOf, parseRetryAfter } from '../feed/http-error.ts'
import { isDecimal } from './decoder.ts'

/** Where Binance's public REST interface answers. */
const BINANCE_REST_URL = 'https://api.binance.com'

const TIMEOUT_MS: Milliseconds = 10_000

const PATH = '/api/v3/ticker/price'

/**
 * Asks Binance which symbols trade now, and at what price: one REST call of weight 4. A symbol that is halted
 * or delisted is absent from the response.
 * @param restUrl the part before `/api/v3` @default Binance's own
 * @returns a function that rejects with an HttpError for a non-2xx response, and with `KIMCHI_ERR_REST` for
 *   anything else
 * @see docs/exchanges.md#binance-rest
 */
export function binanceTradingPrices(
  restUrl: string = BINANCE_REST_URL,
  { clock }: Pick<Context, 'clock'>,
): AskTradingPrices {
  const url = `${restUrl.replace(/\/+$/, '')}${PATH}?symbolStatus=TRADING`
  return async signal => pricesOf(await get(url, clock, signal))
}

async function get(url: string, clock: Context['clock'], signal: AbortSignal): Promise<unknown> {
  // A controller of its own for each request: AbortSignal.any leaves a dependant behind on a long-lived signal.
  const request = new AbortController()
  const over = new AbortController()
  const giveUp = () => request.abort()
  signal.addEventListener('abort', giveUp, { once: true })
  let isLate = false
  void clock.wait(TIMEOUT_MS, over.signal).then(() => {
    isLate = !over.signal.aborted
    request.abort()
  })
  try {
    signal.throwIfAborted()
    const response = await fetch(url, { signal: request.signal, redirect: 'manual' })
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock.now())
    throw httpErrorOf({ exchange: 'binance', what: `GET ${PATH}`, status: response.status, retryAfterMs })
  } catch (error) {
    if (error instanceof KimchiError) throw error
    const why = isLate ? `no answer within ${TIMEOUT_MS} ms` : causeOf(error)
    throw new KimchiError('KIMCHI_ERR_REST', `binance GET ${PATH}: ${why}`, { cause: error })
  } finally {
    signal.removeEventListener('abort', giveUp)
    over.abort()
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${messageOf(error)}${cause}`
}

/** Without the reference market it is no list of what trades; to believe it would halt every coin. */
function pricesOf(response: unknown): ReadonlyMap<Market, number | undefined> {
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
