import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Context,
  type EpochMinute,
  type Exchange,
  formatTimestamp,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  minuteOf,
  minuteStart,
} from '@kimchi/core'
import type { RestBases } from '../bases.ts'
import { type Listings, parseBinanceSymbols, parseUpbitMarkets } from '../catalogue/listings.ts'
import { HttpError } from '../feed/http-error.ts'
import { getText, NAME } from '../http.ts'

const MAX_LISTING_BYTES = 32 * 1_048_576

/** One 1-minute candle, compact because many are kept: `[open minute, close, volume]`. */
export type MinuteCandle = readonly [openMinute: EpochMinute, close: number, volume: number]

/** Some candles, ascending, each minute at most once. */
export interface CandlePage {
  readonly candles: readonly MinuteCandle[]
  /** How long the exchange wants no further request; undefined where it doesn't say. */
  readonly pauseMs?: Milliseconds | undefined
}

/** The newest candles of a market that open before a minute. */
export interface CandleRequest {
  readonly exchange: Exchange
  readonly market: Market
  /** At most 200 of Upbit, 1,000 of Binance. */
  readonly count: number
  /** Exclusive. @default now, by the exchange's clock */
  readonly before?: EpochMinute
}

/** Where the exchanges answer, and who asks. */
export interface RestClientOptions {
  /** The parts before `/v1` and `/api/v3`. */
  readonly bases: RestBases
  /** @default our name without version and address */
  readonly userAgent?: string
}

/** One request under way, and what its answer's headers said. */
interface Asking {
  readonly exchange: Exchange
  readonly base: string
  readonly maxBytes?: number
  readonly signal: AbortSignal | undefined
  pauseMs?: Milliseconds | undefined
}

/** What ccxt reads of an answer. */
type Answer = Pick<Response, 'status' | 'statusText' | 'headers' | 'text'>

/** Both exchanges of ccxt. */
type Ccxt = Awaited<ReturnType<typeof loadCcxt>>

/**
 * Lists and candles of both exchanges, by ccxt's raw endpoints: its unified symbols rename coins. The first
 * request loads ccxt. The caller keeps the exchanges' rate limits. A request goes to the next base where the one
 * in use fails, and rejects with HttpError when the exchange refuses, else with KimchiError.
 * @see docs/exchanges.md#symbol-mapping
 */
export class RestClient {
  readonly #options: RestClientOptions
  readonly #clock: Context['clock']
  /** ccxt hands our parts of a request on to {@link #send} in no other way. */
  readonly #asking = new AsyncLocalStorage<Asking>()
  #ccxt: Promise<Ccxt> | undefined

  constructor(options: RestClientOptions, { clock }: Pick<Context, 'clock'>) {
    this.#options = options
    // A request's 10 s are its socket's, however fast a test lets the minutes pass.
    this.#clock = { now: () => clock.now(), elapsed: () => clock.elapsed(), wait: waitForMs }
  }

  /**
   * What both exchanges list now.
   * @throws KimchiError `KIMCHI_ERR_CATALOGUE` for an answer of the wrong shape
   */
  async loadListings(signal?: AbortSignal): Promise<Listings> {
    const asking = { signal, maxBytes: MAX_LISTING_BYTES }
    const [upbit, binance] = await Promise.all([
      this.#ask({ ...asking, exchange: 'upbit' }, async ccxt =>
        parseUpbitMarkets(await ccxt.upbit.publicGetMarketAll()),
      ),
      this.#ask({ ...asking, exchange: 'binance' }, async ccxt =>
        parseBinanceSymbols(await ccxt.binance.publicGetExchangeInfo({ showPermissionSets: 'false' })),
      ),
    ])
    return { upbit, binance }
  }

  /**
   * 1-minute candles, by one request. A minute without a trade is absent on Upbit, so that the page reaches back
   * further, and has volume 0 on Binance.
   */
  candlePage(request: CandleRequest, signal?: AbortSignal): Promise<CandlePage> {
    const { exchange, before } = request
    return this.#ask({ exchange, signal }, async (ccxt, asking) => {
      const rows = exchange === 'upbit' ? upbitRows(ccxt, request) : binanceRows(ccxt, request)
      return { candles: toCandles(await rows, before), pauseMs: asking.pauseMs }
    })
  }

  async #ask<T>(
    request: Omit<Asking, 'base'>,
    endpoint: (ccxt: Ccxt, asking: Asking) => Promise<T>,
  ): Promise<T> {
    this.#ccxt ??= loadCcxt(path => this.#send(path))
    const ccxt = await this.#ccxt
    return this.#options.bases[request.exchange].request(async base => {
      const asking: Asking = { ...request, base }
      try {
        return await this.#asking.run(asking, () => endpoint(ccxt, asking))
      } catch (cause) {
        if (cause instanceof KimchiError) throw cause
        const message = `${request.exchange} REST: ${messageOf(cause).slice(0, 300)}`
        throw new KimchiError('KIMCHI_ERR_REST', message, { cause })
      }
    }, request.signal)
  }

  async #send(path: string): Promise<Answer> {
    const asking = this.#asking.getStore()
    if (asking === undefined) throw new KimchiError('KIMCHI_ERR_REST', `GET ${path}: nobody has asked for it`)
    const request = { userAgent: this.#options.userAgent ?? NAME, ...asking }
    const answer = getText(`${asking.base}${path}`, request, this.#clock)
    const { text, headers } = await answer.catch(error =>
      Promise.reject(withUpbitWait(asking.exchange, error)),
    )
    asking.pauseMs = pauseMsOf(headers.get('remaining-req'))
    return { status: 200, statusText: 'OK', headers, text: async () => text }
  }
}

async function loadCcxt(send: (path: string) => Promise<Answer>) {
  // ccxt exports all its exchanges or none, and loading a hundred of them costs 50 MB and 0.3 s.
  const entry = import.meta.resolve('ccxt')
  const load = async <E extends Exchange>(exchange: E): Promise<typeof import('ccxt')[E]> =>
    (await import(new URL(`./src/${exchange}.js`, entry).href)).default
  const [Upbit, Binance] = await Promise.all([load('upbit'), load('binance')])
  const options = {
    enableRateLimit: false,
    // It would keep the text of the last answer, and parse one with a long number twice.
    enableLastHttpResponse: false,
    quoteJsonNumbers: false,
  }
  const [upbit, binance] = [new Upbit(options), new Binance(options)]
  // Each request has its own base, which is put before the path where it is sent.
  upbit.urls.api = { public: '', private: '' }
  binance.urls.api = { public: '/api/v3' }
  upbit.fetchImplementation = send
  binance.fetchImplementation = send
  return { upbit, binance }
}

async function upbitRows(
  { upbit }: Ccxt,
  { market, count, before }: CandleRequest,
): Promise<readonly unknown[][]> {
  // `to` is exclusive on Upbit.
  const range = before === undefined ? {} : { to: `${formatTimestamp(before)}Z` }
  const answer = listOf(await upbit.publicGetCandlesMinutes1({ market, count, ...range }))
  return answer.map(row => [
    Date.parse(`${row.candle_date_time_utc}Z`),
    row.trade_price,
    row.candle_acc_trade_volume,
  ])
}

async function binanceRows(
  { binance }: Ccxt,
  { market, count, before }: CandleRequest,
): Promise<readonly unknown[][]> {
  const range =
    before === undefined ? {} : { startTime: minuteStart(before - count), endTime: minuteStart(before) - 1 }
  const answer = listOf(
    await binance.publicGetKlines({ symbol: market, interval: '1m', limit: count, ...range }),
  )
  return answer.map(([openAt, , , , close, volume]) => [openAt, close, volume])
}

/** ccxt hands out a text that is no JSON as it came. */
function listOf<Row>(answer: Row[] | string): readonly Row[] {
  if (Array.isArray(answer)) return answer
  const got = typeof answer === 'string' ? 'the response is no JSON' : 'the response is no list'
  throw new KimchiError('KIMCHI_ERR_REST', `candles: ${got}`)
}

async function waitForMs(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {})
}

/** Upbit counts by the second, and its 429 names no time. */
function withUpbitWait(exchange: Exchange, error: unknown): unknown {
  if (exchange !== 'upbit' || !(error instanceof HttpError)) return error
  const isUntimed = error.status === 429 && error.retryAfterMs === undefined
  return isUntimed ? new HttpError(error.code, error.message, error.status, 1_000) : error
}

/** Upbit says how many requests of a group it still accepts in this second. @see docs/exchanges.md#upbit-rest */
function pauseMsOf(remainingReq: string | null): Milliseconds | undefined {
  return /\bsec=0\b/.test(remainingReq ?? '') ? 1_000 : undefined
}

/** Candles of `[opened at, close, volume]`: ascending, each minute once, all of them opened before `before`. */
function toCandles(rows: readonly unknown[][], before = Number.POSITIVE_INFINITY): MinuteCandle[] {
  const candles = new Map<EpochMinute, MinuteCandle>()
  for (const [openAt, close, volume] of rows) {
    const minute = minuteOf(Number(openAt))
    if (close === undefined || close === null || !(minute < before)) continue
    candles.set(minute, [minute, Number(close), Number(volume ?? 0)])
  }
  return [...candles.values()].sort(([a], [b]) => a - b)
}
