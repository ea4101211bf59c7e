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

/** Requests and waits of all coins listen to one signal: two requests of each in the first list. */
const MAX_LISTENERS = 1_000

/** So many different markets failing in a row are the exchange's trouble, not theirs. */
const MANY_MARKETS = 3

/** How often a market that fails without being refused is asked for again before its coin has to wait. */
const RETRIES = 3

/** A wait shorter than this is part of the work: an exchange refuses a request now and then. */
const BRIEF_MS: Milliseconds = 2_000

/** Statuses that answer all of our requests, not one market's. */
const FOR_ALL: readonly number[] = [403, 418, 429, 451]

/** What the requests to one exchange have come to. Counters run since the start. */
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
    const upbitMs = 1_000 / options.upbitPerSecond
    this.#exchanges = {
      upbit: new ExchangeRequests(upbitMs, options, context),
      binance: new ExchangeRequests(upbitMs / BINANCE_FOR_ONE, options, context),
    }
  }

  /**
   * One page of candles. An exchange's trouble is waited out here, for as long as it takes.
   * @throws what is the market's own trouble
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
  readonly #spacingMs: Milliseconds
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

  constructor(spacingMs: Milliseconds, options: CandleRequestsOptions, context: Context) {
    this.#spacingMs = spacingMs
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
      try {
        const page = await this.#options.rest.candlePage(range, signal)
        this.#recover(page)
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        this.#counts.failures += 1
        if (!this.#isMarkets(range.market, thrown)) this.#pause(range.exchange, thrown)
        else if (isRefusal(thrown) || failures++ === RETRIES) throw thrown
      } finally {
        this.#underWay -= 1
      }
      if (failures > 0) await clock.wait(retryDelay(failures, random), signal)
    }
  }

  /** Waits until a request may go out. After a pause one goes first: a ban must not be answered with a volley. */
  async #turn(): Promise<void> {
    const { clock, signal } = this.#context
    for (;;) {
      signal.throwIfAborted()
      const gate = this.#gate
      await gate
      if (gate !== this.#gate) continue
      if (this.#problem === undefined || this.#underWay === 0) break
      await clock.wait(this.#spacingMs, signal)
    }
    this.#gate = clock.wait(this.#spacingMs, signal)
    this.#underWay += 1
    this.#counts.requests += 1
  }

  #recover({ restMs }: CandlePage): void {
    this.#failing.clear()
    this.#pauses = 0
    this.#problem = undefined
    if (restMs !== undefined) this.#holdFor(restMs)
  }

  /** Whether a failure is the market's own trouble, not the exchange's. */
  #isMarkets(market: Market, thrown: unknown): boolean {
    if (thrown instanceof HttpError && FOR_ALL.includes(thrown.status)) return false
    if (!isRefusal(thrown)) this.#failing.add(market)
    return !SHARED_MARKETS.has(market) && this.#failing.size < MANY_MARKETS
  }

  /** Holds all requests back. Those that fail while others wait already were sent before the pause. */
  #pause(exchange: Exchange, thrown: unknown): void {
    if (this.#isPaused) return
    const { random, log } = this.#context
    const waitMs = retryDelay(this.#pauses++, random, thrown)
    this.#problem = messageOf(thrown)
    const fields = { exchange, reason: this.#problem, waitMs: Math.round(waitMs) }
    log[waitMs < BRIEF_MS ? 'debug' : 'warn'](fields, 'candles wait')
    this.#isPaused = true
    void this.#holdFor(waitMs).then(() => {
      this.#isPaused = false
    })
  }

  #holdFor(waitMs: Milliseconds): Promise<void> {
    const { clock, signal } = this.#context
    const hold = clock.wait(waitMs, signal)
    this.#gate = Promise.all([this.#gate, hold])
    return hold
  }
}

/** Whether the exchange has understood the request and declined it. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
