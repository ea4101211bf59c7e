import {
  type EpochMinute,
  type EpochMs,
  type Exchange,
  KimchiError,
  MINUTE_MS,
  messageOf,
  minuteOf,
} from '@kimchi/core'
import type { Exchange as CcxtExchange } from 'ccxt'
import { parseBinanceSymbols, parseUpbitMarkets } from '../catalogue/listings.ts'
import { perCoinPrice } from '../catalogue/pairs.ts'
import { httpErrorOf, parseRetryAfter } from '../feed/http-error.ts'
import type { CandlePage, CandleRange, Listings, MinuteCandle } from './messages.ts'

// ccxt exports all its exchanges or none, and loading a hundred of them costs 50 MB and 0.3 s.
const ccxtEntry = import.meta.resolve('ccxt')
const [CcxtUpbit, CcxtBinance] = await Promise.all([loadExchange('upbit'), loadExchange('binance')])

async function loadExchange<E extends Exchange>(exchange: E): Promise<typeof import('ccxt')[E]> {
  return (await import(new URL(`./src/${exchange}.js`, ccxtEntry).href)).default
}

/** The most candles one answer holds. @see docs/exchanges.md */
const PAGE: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 1_000 }

/**
 * As ccxt has it for both: a unit of weight each 50 ms. Candles weigh 2 on Upbit, where 10 a second are
 * allowed.
 */
const REQUEST_MS = 50

/** Both exchanges' REST interfaces behind ccxt, whose throttle keeps their rate limits. */
export interface RestExchanges {
  /** @throws KimchiError `KIMCHI_ERR_CATALOGUE` for a wrong shape, HttpError, `KIMCHI_ERR_REST` otherwise */
  listings(): Promise<Listings>
  /** The newest candles that open in a range, by one request. Prices are per coin. */
  candlePage(range: CandleRange): Promise<CandlePage>
}

/**
 * Both exchanges. Nothing of ccxt's own naming is used: markets go in and out by the exchanges' codes, since
 * its unified symbols rename coins.
 * @see docs/exchanges.md#symbol-mapping
 * @param upbitRestUrl the part before `/v1` @param binanceRestUrl the part before `/api/v3`
 * @param speed multiplies the request rate, for exchanges whose limits are higher
 */
export function createRestExchanges(
  upbitRestUrl: string,
  binanceRestUrl: string,
  now: () => EpochMs,
  speed = 1,
): RestExchanges {
  const upbitUrl = trimmed(upbitRestUrl)
  const upbit = new CcxtUpbit({
    rateLimit: REQUEST_MS / speed,
    urls: { api: { public: upbitUrl, private: upbitUrl } },
  })
  const binance = new CcxtBinance({
    rateLimit: REQUEST_MS / speed,
    urls: { api: { public: `${trimmed(binanceRestUrl)}/api/v3` } },
    options: { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false },
  })
  const call = { upbit: callerOf('upbit', upbit, now), binance: callerOf('binance', binance, now) }
  return {
    async listings() {
      const [upbitAnswer, binanceAnswer] = await Promise.all([
        call.upbit(() => upbit.publicGetMarketAll()),
        call.binance(() => binance.publicGetExchangeInfo({ showPermissionSets: 'false' })),
      ])
      return { upbit: parseUpbitMarkets(upbitAnswer), binance: parseBinanceSymbols(binanceAnswer) }
    },
    candlePage: range =>
      range.exchange === 'upbit'
        ? upbitPage(upbit, call.upbit, range)
        : binancePage(binance, call.binance, range),
  }
}

type Call = <T>(request: () => Promise<T>) => Promise<T>

/**
 * Runs requests of one exchange; whatever goes wrong becomes an error with a code, by the HTTP status if
 * there is one.
 */
function callerOf(exchange: Exchange, ccxtExchange: CcxtExchange, now: () => EpochMs): Call {
  const onRestResponse = ccxtExchange.onRestResponse.bind(ccxtExchange)
  // ccxt folds status and headers into classes of its own; here they are still at hand.
  ccxtExchange.onRestResponse = (
    status,
    statusText,
    url,
    method,
    headers,
    body,
    requestHeaders,
    requestBody,
  ) => {
    const what = `${method} ${new URL(url).pathname}`
    if (status >= 400) {
      const retryAfter = headers['Retry-After'] ?? headers['retry-after']
      const asked = parseRetryAfter(retryAfter, now())
      // Upbit counts by the second and names no time.
      const retryAfterMs = asked ?? (exchange === 'upbit' && status === 429 ? 1_000 : undefined)
      throw httpErrorOf({ exchange, what, status, retryAfterMs })
    }
    // ccxt takes what it can't parse for an empty list, and a minute without candles for a minute without
    // trades.
    if (!isJson(body))
      throw new KimchiError('KIMCHI_ERR_REST', `${exchange} ${what}: the response is no JSON`)
    return onRestResponse(status, statusText, url, method, headers, body, requestHeaders, requestBody)
  }
  return async request => {
    try {
      return await request()
    } catch (error) {
      if (error instanceof KimchiError) throw error
      const text = messageOf(error).slice(0, 300)
      throw new KimchiError('KIMCHI_ERR_REST', `${exchange} REST: ${text}`, { cause: error })
    }
  }
}

/** A page holds the last candles that exist before its end, however far back they reach. */
async function upbitPage(
  upbit: CcxtExchange,
  call: Call,
  { market, from, to }: CandleRange,
): Promise<CandlePage> {
  introduce(upbit, market)
  const limit = Math.min(PAGE.upbit, to - from)
  // `to` is exclusive on Upbit.
  const before = new Date(to * MINUTE_MS).toISOString().replace('.000Z', 'Z')
  const candles = toCandles(
    market,
    await call(() => upbit.fetchOHLCV(market, '1m', undefined, limit, { to: before })),
    to,
  )
  const [oldest] = candles[0] ?? []
  // Nothing at all: there are no older candles. A page that is not full promises no more than the minutes it
  // was asked for.
  if (oldest === undefined) return { candles, start: from }
  return { candles, start: candles.length < limit ? to - limit : oldest }
}

async function binancePage(
  binance: CcxtExchange,
  call: Call,
  { market, from, to }: CandleRange,
): Promise<CandlePage> {
  introduce(binance, market)
  const start = Math.max(from, to - PAGE.binance)
  const until = to * MINUTE_MS - 1
  const rows = await call(() => binance.fetchOHLCV(market, '1m', start * MINUTE_MS, to - start, { until }))
  return { candles: toCandles(market, rows, to), start }
}

/** Tells ccxt of a market under its raw code, which spares it from loading and renaming thousands. */
function introduce(ccxtExchange: CcxtExchange, market: string): void {
  if (ccxtExchange.markets?.[market] !== undefined) return
  const known = Object.values(ccxtExchange.markets ?? {})
  const fresh = ccxtExchange.safeMarketStructure({
    id: market,
    symbol: market,
    spot: true,
    type: 'spot',
    active: true,
  })
  ccxtExchange.setMarkets([...known, fresh])
}

/** Ascending, each minute once, none that opens at or after `to`. */
function toCandles(
  market: string,
  rows: readonly (readonly (number | undefined)[])[],
  to: EpochMinute,
): MinuteCandle[] {
  const candles = new Map<EpochMinute, MinuteCandle>()
  for (const [at, , , , close, volume] of rows) {
    if (at === undefined || close === undefined || minuteOf(at) >= to) continue
    candles.set(minuteOf(at), [minuteOf(at), perCoinPrice(market, close), volume ?? 0])
  }
  return [...candles.values()].sort(([a], [b]) => a - b)
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(String(text))
    return true
  } catch {
    return false
  }
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '')
}
