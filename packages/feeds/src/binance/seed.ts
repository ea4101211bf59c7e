import {
  type Context,
  isPrice,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  type Tick,
} from '@kimchi/core'
import { perCoinPrice } from '../catalogue/pairs.ts'
import { isFields, shown } from '../feed/frame.ts'
import { httpErrorOf, parseRetryAfter } from '../feed/http-error.ts'
import type { Seed } from '../feed/seeding.ts'
import { isDecimal } from './decoder.ts'

/** Where Binance's public REST interface answers. */
const BINANCE_REST_URL = 'https://api.binance.com'

/** Above this many the list in the URL grows too long, and the whole list costs the same weight of 4. */
const MAX_NAMED = 200

/** Binance's code for a symbol that it does not know. */
const INVALID_SYMBOL = -1121

/** Where the seed comes from and how long it may take. */
interface BinanceSeedOptions {
  /** The part before `/api/v3`. @default Binance's own */
  readonly restUrl?: string
  /** @default 10 s */
  readonly timeoutMs?: Milliseconds
}

/**
 * A seed of Binance's last prices by one REST call (`ticker/price`, weight 4). The answer has no time of its own: its ticks
 * take the receive time as event time. When one symbol is unknown, a second call asks for everything and ours are picked.
 * @throws (rejects) HttpError when Binance refuses; KimchiError `KIMCHI_ERR_REST` for anything else
 * @see docs/exchanges.md#binance-rest
 */
export function binanceSeed(options: BinanceSeedOptions, { clock }: Pick<Context, 'clock'>): Seed {
  const { restUrl = BINANCE_REST_URL, timeoutMs = 10_000 } = options
  const base = `${restUrl.replace(/\/+$/, '')}/api/v3/ticker/price`
  return async (markets, signal) => {
    const url = markets.length > MAX_NAMED ? `${base}?symbolStatus=TRADING` : `${base}?${named(markets)}`
    let answer = await get(url, clock, timeoutMs, signal)
    if (isInvalidSymbol(answer)) answer = await get(base, clock, timeoutMs, signal)
    return toTicks(answer, new Set(markets), clock.now())
  }
}

function named(markets: readonly Market[]): string {
  return new URLSearchParams({ symbols: JSON.stringify(markets) }).toString()
}

async function get(
  url: string,
  clock: Context['clock'],
  timeoutMs: Milliseconds,
  signal: AbortSignal,
): Promise<unknown> {
  const limit = new AbortController()
  const over = AbortSignal.any([signal, limit.signal])
  const done = new AbortController()
  void clock.wait(timeoutMs, AbortSignal.any([signal, done.signal])).then(() => limit.abort())
  try {
    const response = await fetch(url, { signal: over, redirect: 'manual' })
    const text = await response.text()
    const body = parse(text)
    if (response.ok || isInvalidSymbol(body)) return body
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock.now())
    const what = 'GET /api/v3/ticker/price'
    throw httpErrorOf({ exchange: 'binance', what, status: response.status, retryAfterMs })
  } catch (error) {
    if (error instanceof KimchiError) throw error
    const why = limit.signal.aborted ? `no answer within ${timeoutMs} ms` : causeOf(error)
    throw new KimchiError('KIMCHI_ERR_REST', `binance GET /api/v3/ticker/price: ${why}`, { cause: error })
  } finally {
    done.abort()
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${messageOf(error)}${cause}`
}

function isInvalidSymbol(body: unknown): boolean {
  return isFields(body) && body.code === INVALID_SYMBOL
}

function toTicks(answer: unknown, wanted: ReadonlySet<Market>, receivedAt: number): Tick[] {
  if (!Array.isArray(answer)) {
    throw new KimchiError('KIMCHI_ERR_REST', `binance ticker/price must be a list, got: ${shown(answer)}`)
  }
  const ticks: Tick[] = []
  for (const entry of answer) {
    if (!isFields(entry) || typeof entry.symbol !== 'string' || !wanted.has(entry.symbol)) continue
    const price = isDecimal(entry.price) ? perCoinPrice(entry.symbol, Number(entry.price)) : Number.NaN
    if (!isPrice(price)) continue
    ticks.push({
      exchange: 'binance',
      market: entry.symbol,
      price,
      eventAt: receivedAt,
      receivedAt,
      origin: 'seed',
      tradedAt: undefined,
      tradable: true,
    })
  }
  return ticks
}
