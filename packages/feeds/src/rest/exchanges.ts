import { setTimeout as delay } from 'node:timers/promises'
import {
  type EpochMinute,
  type EpochMs,
  type Exchange,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
} from '@kimchi/core'
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

/**
 * Both exchanges' REST interfaces behind ccxt. Its unified symbols rename coins, so only its raw endpoints are
 * used, with the exchanges' own codes. Each request names its base: the part before `/v1` or `/api/v3`. The
 * caller keeps the exchanges' rate limits.
 * @see docs/exchanges.md#symbol-mapping
 */
export class RestExchanges {
  readonly #upbit = new CcxtUpbit({ enableRateLimit: false })
  readonly #binance = new CcxtBinance({ enableRateLimit: false })
  /** How long Upbit wants no further request, by its last answer. */
  #upbitPauseMs: Milliseconds | undefined

  constructor(userAgent: string, now: () => EpochMs) {
    const clock = { now, elapsed: now, wait: waitForMs }
    const send = async (exchange: Exchange, url: string) => {
      const { text, headers } = await getJson(url, { exchange, userAgent }, clock)
      return new Response(text, { headers })
    }
    this.#binance.fetchImplementation = (url: string) => send('binance', url)
    this.#upbit.fetchImplementation = async (url: string) => {
      const response = await send('upbit', url).catch(error => Promise.reject(withUpbitWait(error)))
      this.#upbitPauseMs = pauseMsOf(response.headers.get('remaining-req'))
      return response
    }
  }

  /** @throws KimchiError `KIMCHI_ERR_CATALOGUE` for a wrong shape, HttpError and others of {@link getJson} */
  async listing(base: string, exchange: Exchange): Promise<Listing<UpbitMarket | BinanceMarket>> {
    return exchange === 'upbit'
      ? parseUpbitMarkets(await this.#upbitAt(base).publicGetMarketAll())
      : parseBinanceSymbols(
          await this.#binanceAt(base).publicGetExchangeInfo({ showPermissionSets: 'false' }),
        )
  }

  /** The newest candles that open in a range, by one request. Prices are per coin. */
  candlePage(base: string, range: CandleRange): Promise<CandlePage> {
    return range.exchange === 'upbit' ? this.#upbitPage(base, range) : this.#binancePage(base, range)
  }

  #upbitAt(base: string) {
    this.#upbit.urls.api = { public: base, private: base }
    return this.#upbit
  }

  #binanceAt(base: string) {
    this.#binance.urls.api = { public: `${base}/api/v3` }
    return this.#binance
  }

  /** A page holds the last candles that exist before its end, however far back they reach. */
  async #upbitPage(base: string, { market, from, to }: CandleRange): Promise<CandlePage> {
    const count = Math.min(PAGE.upbit, to - from)
    // `to` is exclusive on Upbit.
    const before = new Date(to * MINUTE_MS).toISOString().replace('.000Z', 'Z')
    const answer = await this.#upbitAt(base).publicGetCandlesMinutes1({ market, count, to: before })
    const rows = answer.map((row: Record<string, unknown>) => [
      Date.parse(`${row.candle_date_time_utc}Z`),
      row.trade_price,
      row.candle_acc_trade_volume,
    ])
    const candles = toCandles(market, rows, to)
    const [oldest] = candles[0] ?? []
    const pauseMs = this.#upbitPauseMs
    // Nothing at all: there are no older candles.
    if (oldest === undefined) return { candles, start: from, pauseMs }
    // A page that is not full is only sure to be complete for the minutes of its request.
    return { candles, start: candles.length < count ? to - count : oldest, pauseMs }
  }

  async #binancePage(base: string, { market, from, to }: CandleRange): Promise<CandlePage> {
    const start = Math.max(from, to - PAGE.binance)
    const range = { startTime: start * MINUTE_MS, endTime: to * MINUTE_MS - 1, limit: to - start }
    const answer = await this.#binanceAt(base).publicGetKlines({ symbol: market, interval: '1m', ...range })
    const rows = answer.map(([openAt, , , , close, volume]: unknown[]) => [openAt, close, volume])
    return { candles: toCandles(market, rows, to), start }
  }
}

/** Upbit counts by the second, and its 429 names no time. */
function withUpbitWait(error: unknown): unknown {
  const isUntimed = error instanceof HttpError && error.status === 429 && error.retryAfterMs === undefined
  return isUntimed ? new HttpError(error.code, error.message, error.status, 1_000) : error
}

/** Upbit says how many requests of a group it still accepts in this second. @see docs/exchanges.md#upbit-rest */
function pauseMsOf(remainingReq: string | null): Milliseconds | undefined {
  return /\bsec=0\b/.test(remainingReq ?? '') ? 1_000 : undefined
}

async function waitForMs(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {})
}

/** Candles of `[opened at, close, volume]`: ascending, each minute once, none that opens at or after `to`. */
function toCandles(market: string, rows: readonly unknown[][], to: EpochMinute): MinuteCandle[] {
  const candles = new Map<EpochMinute, MinuteCandle>()
  for (const [openAt, close, volume] of rows) {
    const minute = minuteOf(Number(openAt))
    if (close === undefined || close === null || !(minute < to)) continue
    candles.set(minute, [minute, perCoinPrice(market, Number(close)), Number(volume ?? 0)])
  }
  return [...candles.values()].sort(([a], [b]) => a - b)
}
