import {
  type EpochMinute,
  type EpochMs,
  type Exchange,
  KimchiError,
  MINUTE_MS,
  messageOf,
  minuteOf,
} from '@kimchi/core'
import ccxt, { type Exchange as CcxtExchange } from 'ccxt'
import { parseBinanceSymbols, parseUpbitMarkets } from '../catalogue/listings.ts'
import { perCoinPrice } from '../catalogue/pairs.ts'
import { httpErrorOf, parseRetryAfter } from '../feed/http-error.ts'
import type { CandleRange, Listings, MinuteCandle } from './messages.ts'

/** The most candles one answer holds. @see docs/exchanges.md */
const PAGE: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 1_000 }

/** Both exchanges' REST interfaces behind ccxt, whose throttle keeps their rate limits. */
export interface RestExchanges {
  /** @throws KimchiError `KIMCHI_ERR_CATALOGUE` for a wrong shape, HttpError, `KIMCHI_ERR_REST` otherwise */
  listings(): Promise<Listings>
  /**
   * Ascending, each minute at most once; minutes without a trade are missing on Upbit. Prices are per coin.
   */
  candles(range: CandleRange): Promise<MinuteCandle[]>
}

/**
 * Both exchanges. Nothing of ccxt's own naming is used: markets go in and out by the exchanges' codes, since
 * its unified symbols rename coins.
 * @see docs/exchanges.md#symbol-mapping
 * @param upbitRestUrl the part before `/v1` @param binanceRestUrl the part before `/api/v3`
 */
export function createRestExchanges(
  upbitRestUrl: string,
  binanceRestUrl: string,
  now: () => EpochMs,
): RestExchanges {
  const upbitUrl = trimmed(upbitRestUrl)
  const upbit = new ccxt.upbit({ urls: { api: { public: upbitUrl, private: upbitUrl } } })
  const binance = new ccxt.binance({
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
    candles: range =>
      range.exchange === 'upbit'
        ? upbitCandles(upbit, call.upbit, range)
        : binanceCandles(binance, call.binance, range),
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
    if (status >= 400) {
      const retryAfter = headers['Retry-After'] ?? headers['retry-after']
      const what = `${method} ${new URL(url).pathname}`
      const asked = parseRetryAfter(retryAfter, now())
      // Upbit counts by the second and names no time.
      const retryAfterMs = asked ?? (exchange === 'upbit' && status === 429 ? 1_000 : undefined)
      throw httpErrorOf({ exchange, what, status, retryAfterMs })
    }
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

/**
 * Newest page first: a page holds the last 200 candles that exist before its end, however far back they
 * reach.
 */
async function upbitCandles(
  upbit: CcxtExchange,
  call: Call,
  { market, from, to }: CandleRange,
): Promise<MinuteCandle[]> {
  introduce(upbit, market)
  const candles = new Map<EpochMinute, MinuteCandle>()
  for (let end = to; end > from; ) {
    const limit = Math.min(PAGE.upbit, end - from)
    // `to` is exclusive on Upbit.
    const before = new Date(end * MINUTE_MS).toISOString().replace('.000Z', 'Z')
    const rows = await call(() => upbit.fetchOHLCV(market, '1m', undefined, limit, { to: before }))
    keep(candles, market, rows, from, end)
    const oldest = rows.reduce((least, [at]) => Math.min(least, minuteOf(at ?? end * MINUTE_MS)), end)
    if (rows.length < limit || oldest >= end) break
    end = oldest
  }
  return ascending(candles)
}

async function binanceCandles(
  binance: CcxtExchange,
  call: Call,
  { market, from, to }: CandleRange,
): Promise<MinuteCandle[]> {
  introduce(binance, market)
  const candles = new Map<EpochMinute, MinuteCandle>()
  for (let start = from; start < to; ) {
    const limit = Math.min(PAGE.binance, to - start)
    const until = to * MINUTE_MS - 1
    const rows = await call(() => binance.fetchOHLCV(market, '1m', start * MINUTE_MS, limit, { until }))
    keep(candles, market, rows, start, to)
    const newest = rows.reduce((most, [at]) => Math.max(most, minuteOf(at ?? 0)), -1)
    if (rows.length < limit || newest < start) break
    start = newest + 1
  }
  return ascending(candles)
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

function keep(
  candles: Map<EpochMinute, MinuteCandle>,
  market: string,
  rows: readonly (readonly (number | undefined)[])[],
  from: EpochMinute,
  to: EpochMinute,
): void {
  for (const [at, , , , close, volume] of rows) {
    if (at === undefined || close === undefined) continue
    const minute = minuteOf(at)
    if (minute < from || minute >= to) continue
    candles.set(minute, [minute, perCoinPrice(market, close), volume ?? 0])
  }
}

function ascending(candles: ReadonlyMap<EpochMinute, MinuteCandle>): MinuteCandle[] {
  return [...candles.values()].sort(([a], [b]) => a - b)
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '')
}
