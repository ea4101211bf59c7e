import { setMaxListeners } from 'node:events'
import { type Context, type Exchange, isWorthALine, type Milliseconds, messageOf } from '@kimchi/core'
import { type CandlePage, type CandleRequest, HttpError, type RestClient, retryDelay } from '@kimchi/feeds'

/**
 * Candle requests to Binance for one to Upbit: at most 25 a second, 3,000 of the 6,000 of weight that it allows
 * in a minute.
 * @see docs/exchanges.md#binance-rest
 */
const BINANCE_FOR_ONE = 2.5

/** Requests and waits of all coins listen to one signal. */
const MAX_LISTENERS = 1_000

/**
 * Refusals of all of our requests, not of one market's. The bases have seen to it that a 403 or a 451 is every
 * base's.
 */
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
  readonly rest: Pick<RestClient, 'fetchCandles'>
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
   * One page of candles. While the exchange refuses all requests, it waits and asks again.
   * @throws any other failure, which concerns this request alone
   */
  fetchPage(request: CandleRequest): Promise<CandlePage> {
    return this.#exchanges[request.exchange].fetch(request)
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
  /** Pauses since the last success. */
  #pauses = 0
  /** Why the exchange gets no request; undefined while it does. */
  #problem: string | undefined
  /** Settles when the next request may go out. */
  #gate: Promise<unknown> = Promise.resolve()

  constructor(options: CandleRequestsOptions, context: Context) {
    this.#options = options
    this.#context = context
  }

  status() {
    return { ...this.#counts, problem: this.#problem }
  }

  async fetch(request: CandleRequest): Promise<CandlePage> {
    const { signal } = this.#context
    for (;;) {
      await this.#turn()
      try {
        const page = await this.#options.rest.fetchCandles(request)
        this.#pauses = 0
        if (page.pauseMs !== undefined) void this.#holdFor(page.pauseMs)
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        this.#counts.failures += 1
        if (!isOfTheExchange(thrown)) throw thrown
        this.#pause(request.exchange, thrown)
      }
    }
  }

  /** Waits until a request may be sent. */
  async #turn(): Promise<void> {
    const { clock, signal } = this.#context
    for (;;) {
      signal.throwIfAborted()
      const gate = this.#gate
      await gate
      if (gate === this.#gate) break
    }
    signal.throwIfAborted()
    this.#gate = clock.wait(this.spacingMs, signal)
    this.#counts.requests += 1
  }

  /** Holds all requests back. A request that was sent before the pause, and fails during it, does not prolong it. */
  #pause(exchange: Exchange, thrown: unknown): void {
    if (this.#problem !== undefined) return
    const { random, log } = this.#context
    const waitMs = retryDelay(this.#pauses++, random, thrown)
    const reason = messageOf(thrown)
    this.#problem = reason
    if (isWorthALine(this.#pauses))
      log.warn({ exchange, reason, waitMs: Math.round(waitMs) }, 'candle requests wait for the exchange')
    void this.#holdFor(waitMs).then(() => {
      this.#problem = undefined
    })
  }

  #holdFor(waitMs: Milliseconds): Promise<void> {
    const { clock, signal } = this.#context
    const hold = clock.wait(waitMs, signal)
    this.#gate = Promise.all([this.#gate, hold])
    return hold
  }
}

function isOfTheExchange(thrown: unknown): boolean {
  return thrown instanceof HttpError && FOR_ALL.includes(thrown.status)
}

/** Whether the exchange refused the request itself (4xx). */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
