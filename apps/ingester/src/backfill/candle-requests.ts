import { setMaxListeners } from 'node:events'
import { type Context, type Exchange, type Market, type Milliseconds, messageOf } from '@kimchi/core'
import { type CandlePage, type CandleRange, HttpError, type RestChild, retryDelay } from '@kimchi/feeds'
import { SHARED_MARKETS } from './decide-minutes.ts'

/**
 * Candle requests to Binance for one to Upbit: at most 20 a second, 2,400 of the 6,000 of weight that it allows
 * in a minute.
 * @see docs/exchanges.md#binance-rest
 */
const BINANCE_FOR_ONE = 2.5

/** Requests and waits of all coins listen to one signal. */
const MAX_LISTENERS = 1_000

/** When this many different markets fail in a row, the exchange is at fault. */
const MANY_MARKETS = 3

/** How often a request that fails without being refused is repeated before its coin has to wait. */
const RETRIES = 3

/** A refusal that costs less is no reason to stop: exchanges refuse a request now and then. */
const BRIEF_MS: Milliseconds = 2_000

/** Statuses that answer all of our requests, not one market's. */
const FOR_ALL: readonly number[] = [403, 418, 429, 451]

/** The requests to one exchange. Counters run since the start. */
export interface CandleRequestStatus {
  readonly exchange: Exchange
  readonly requests: number
  readonly failures: number
  /** Why requests wait; undefined while they go out. */
  readonly problem: string | undefined
}

/** How candles are fetched. */
export interface CandleRequestsOptions {
  readonly rest: Pick<RestChild, 'candlePage'>
  readonly upbitPerSecond: number
}

/** Requests for both exchanges' candles, at an even pace each, and a pause where an exchange needs one. */
export class CandleRequests {
  readonly #exchanges: Readonly<Record<Exchange, ExchangeRequests>>

  constructor(options: CandleRequestsOptions, context: Context) {
    setMaxListeners(MAX_LISTENERS, context.signal)
    this.#exchanges = {
      upbit: new ExchangeRequests(options, context),
      binance: new ExchangeRequests(options, context),
    }
    this.setPace(options.upbitPerSecond)
  }

  /** From the next request on. */
  setPace(upbitPerSecond: number): void {
    const { upbit, binance } = this.#exchanges
    upbit.spacingMs = 1_000 / upbitPerSecond
    binance.spacingMs = upbit.spacingMs / BINANCE_FOR_ONE
  }

  /**
   * One page of candles. While the exchange as a whole fails, it waits and asks again.
   * @throws an error that concerns this market alone
   */
  fetchPage(range: CandleRange): Promise<CandlePage> {
    return this.#exchanges[range.exchange].fetch(range)
  }

  status(): readonly CandleRequestStatus[] {
    const { upbit, binance } = this.#exchanges
    return [
      { exchange: 'upbit', ...upbit.status() },
      { exchange: 'binance', ...binance.status() },
    ]
  }
}

class ExchangeRequests {
  spacingMs: Milliseconds = 0
  readonly #options: CandleRequestsOptions
  readonly #context: Context
  readonly #counts = { requests: 0, failures: 0 }
  /** Markets that failed since the last success. */
  readonly #failing = new Set<Market>()
  /** Pauses since the last success. */
  #pauses = 0
  #isPaused = false
  #problem: string | undefined
  /** Settles when the next request may go out. */
  #gate: Promise<unknown> = Promise.resolve()
  #underWay = 0

  constructor(options: CandleRequestsOptions, context: Context) {
    this.#options = options
    this.#context = context
  }

  status() {
    return { ...this.#counts, problem: this.#problem }
  }

  async fetch(range: CandleRange): Promise<CandlePage> {
    const { clock, random, signal } = this.#context
    for (let failures = 0; ; ) {
      await this.#turn()
      let waitMs: Milliseconds
      try {
        const page = await this.#options.rest.candlePage(range, signal)
        this.#recover(page)
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        this.#counts.failures += 1
        if (!this.#isMarkets(range.market, thrown)) waitMs = this.#pause(range.exchange, thrown)
        else if (isRefusal(thrown) || failures === RETRIES) throw thrown
        else waitMs = retryDelay(failures++, random, thrown)
      } finally {
        this.#underWay -= 1
      }
      await clock.wait(waitMs, signal)
    }
  }

  /** Waits until a request may be sent. After a pause only one is, so that a ban is not answered with a volley. */
  async #turn(): Promise<void> {
    const { clock, signal } = this.#context
    for (;;) {
      signal.throwIfAborted()
      const gate = this.#gate
      await gate
      if (gate !== this.#gate) continue
      if (this.#problem === undefined || this.#underWay === 0) break
      await clock.wait(this.spacingMs, signal)
    }
    this.#gate = clock.wait(this.spacingMs, signal)
    this.#underWay += 1
    this.#counts.requests += 1
  }

  #recover({ pauseMs }: CandlePage): void {
    this.#failing.clear()
    this.#pauses = 0
    if (!this.#isPaused) this.#problem = undefined
    if (pauseMs !== undefined) this.#holdFor(pauseMs)
  }

  /** Whether a failure concerns the market alone, not the exchange. */
  #isMarkets(market: Market, thrown: unknown): boolean {
    if (thrown instanceof HttpError && FOR_ALL.includes(thrown.status)) return false
    if (!isRefusal(thrown)) this.#failing.add(market)
    return !SHARED_MARKETS.has(market) && this.#failing.size < MANY_MARKETS
  }

  /**
   * Holds all requests back. A first refusal that costs a second says nothing of the next request, and delays
   * its own alone; one that fails during a pause was sent before it, and does not prolong it.
   * @returns how long the failed request waits by itself
   */
  #pause(exchange: Exchange, thrown: unknown): Milliseconds {
    if (this.#isPaused) return 0
    const { random, log } = this.#context
    const waitMs = retryDelay(this.#pauses++, random, thrown)
    if (this.#pauses === 1 && waitMs < BRIEF_MS) return waitMs
    this.#problem = messageOf(thrown)
    log.warn(
      { exchange, reason: this.#problem, waitMs: Math.round(waitMs) },
      'candle requests wait for the exchange',
    )
    this.#isPaused = true
    void this.#holdFor(waitMs).then(() => {
      this.#isPaused = false
    })
    return 0
  }

  #holdFor(waitMs: Milliseconds): Promise<void> {
    const { clock, signal } = this.#context
    const hold = clock.wait(waitMs, signal)
    this.#gate = Promise.all([this.#gate, hold])
    return hold
  }
}

/** Whether the exchange refused the request itself (4xx). */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
