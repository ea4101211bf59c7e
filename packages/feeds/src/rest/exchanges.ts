import { setTimeout as delay } from 'node:timers/promises'
import {
  type EpochMinute,
  type EpochMs,
  type Exchange,
  KimchiError,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
  minuteOf,
} from '@kimchi/core'
import type { Exchange as CcxtExchange } from 'ccxt'
import {
  type BinanceMarket,
  type Listing,
  parseBinanceSymbols,
  parseUpbitMarkets,
  type UpbitMarket,
} from '../catalogue/listings.ts'
import { perCoinPrice } from '../catalogue/pairs.ts'
import { HttpError } from '../feed/http-error.ts'
import { getJson } from '../http.ts'
import type { CandlePage, CandleRange, MinuteCandle } from './messages.ts'

// ccxt exports all its exchanges or none, and loading a hundred of them costs 50 MB and 0.3 s.
const ccxtEntry = import.meta.resolve('ccxt')
const [CcxtUpbit, CcxtBinance] = await Promise.all([loadExchange('upbit'), loadExchange('binance')])

async function loadExchange<E extends Exchange>(exchange: E): Promise<typeof import('ccxt')[E]> {
  return (await import(new URL(`./src/${exchange}.js`, ccxtEntry).href)).default
}

/** The most candles one answer holds. @see docs/exchanges.md */
const PAGE: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 1_000 }

/** Both exchanges' REST interfaces behind ccxt. The caller keeps their rate limits. */
export interface RestExchanges {
  /** @throws KimchiError `KIMCHI_ERR_CATALOGUE` for a wrong shape, HttpError, `KIMCHI_ERR_REST` otherwise */
  listing(base: string, exchange: Exchange): Promise<Listing<UpbitMarket | BinanceMarket>>
  /** The newest candles that open in a range, by one request. Prices are per coin. */
  candlePage(base: string, range: CandleRange): Promise<CandlePage>
}

/**
 * Both exchanges. Nothing of ccxt's own naming is used: markets go in and out by the exchanges' codes, since
 * its unified symbols rename coins. Each request names its base: the part before `/v1` or `/api/v3`.
 * @see docs/exchanges.md#symbol-mapping
 */
export function createRestExchanges(userAgent: string, now: () => EpochMs): RestExchanges {
  const upbit = new CcxtUpbit({ enableRateLimit: false, userAgent })
  const options = { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false }
  const binance = new CcxtBinance({ enableRateLimit: false, userAgent, options })
  let upbitRestMs: Milliseconds | undefined
  const onUpbitHeaders = (headers: Headers) => {
    upbitRestMs = restMsOf(headers.get('remaining-req'))
  }
  const call = {
    upbit: callerOf('upbit', upbit, userAgent, now, onUpbitHeaders),
    binance: callerOf('binance', binance, userAgent, now),
  }
  const atUpbit = (base: string) => {
    upbit.urls.api = { public: base, private: base }
    return upbit
  }
  const atBinance = (base: string) => {
    binance.urls.api = { public: `${base}/api/v3` }
    return binance
  }
  return {
    listing: async (base, exchange) =>
      exchange === 'upbit'
        ? parseUpbitMarkets(await call.upbit(() => atUpbit(base).publicGetMarketAll()))
        : parseBinanceSymbols(
            await call.binance(() => atBinance(base).publicGetExchangeInfo({ showPermissionSets: 'false' })),
          ),
    candlePage: async (base, range) =>
      range.exchange === 'upbit'
        ? { ...(await upbitPage(atUpbit(base), call.upbit, range)), restMs: upbitRestMs }
        : binancePage(atBinance(base), call.binance, range),
  }
}

type Call = <T>(request: () => Promise<T>) => Promise<T>

/**
 * Runs requests of one exchange, sent as all of ours are; whatever goes wrong becomes an error with a code.
 */
function callerOf(
  exchange: Exchange,
  ccxtExchange: CcxtExchange,
  userAgent: string,
  now: () => EpochMs,
  onHeaders: (headers: Headers) => void = () => {},
): Call {
  const clock = { now, wait: waitForMs }
  ccxtExchange.fetchImplementation = async (url: string): Promise<Response> => {
    try {
      const { text, headers } = await getJson(url, { exchange, userAgent }, clock)
      onHeaders(new Headers(headers))
      return new Response(text, { headers })
    } catch (error) {
      // Upbit counts by the second and names no time.
      const isUntimed = error instanceof HttpError && error.status === 429 && error.retryAfterMs === undefined
      if (!isUntimed || exchange !== 'upbit') throw error
      throw new HttpError(error.code, error.message, error.status, 1_000)
    }
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

/** Upbit says how many requests of a group it will take in this second. @see docs/exchanges.md#upbit-rest */
function restMsOf(remainingReq: string | null): Milliseconds | undefined {
  return /\bsec=0\b/.test(remainingReq ?? '') ? 1_000 : undefined
}

async function waitForMs(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {})
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
