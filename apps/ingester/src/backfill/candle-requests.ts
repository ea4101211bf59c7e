import { setMaxListeners } from 'node:events'
import { type Context, type Exchange, type Market, type Milliseconds, messageOf } from '@kimchi/core'
import { type CandlePage, HttpError, retryDelay } from '@kimchi/feeds'
import type { FetchPage } from './candle-blocks.ts'
import { SHARED_MARKETS } from './decide-minutes.ts'

/**
 * Candle requests a second to Binance: 2,400 of the 6,000 of weight that it allows in a minute.
 * @see docs/exchanges.md#binance-rest
 */
const BINANCE_PER_SECOND = 20

/** Requests and waits of all coins listen to one signal: two requests of each in the first list. */
const MAX_LISTENERS = 1_000

/** So many different markets failing in a row are the exchange's trouble, not theirs. */
const MANY_MARKETS = 3

/** A 429 of Upbit means "in the next second"; what waits longer has a reason. */
const NEXT_SECOND_MS: Milliseconds = 1_000
const MAX_429_MS: Milliseconds = 60_000

/** Statuses that are meant for all that we ask, not for one market. */
const FOR_ALL: readonly number[] = [403, 418, 429, 451]

/** What the requests to one exchange have come to. Counters run since the start. */
export interface CandleRequestStatus {
  readonly exchange: Exchange
  readonly requests: number
  readonly failures: number
  /** Why requests wait; undefined while they go out. */
  readonly problem: string | undefined
}

/** How candles are asked for. */
export interface CandleRequestsOptions {
  readonly fetchPage: (...args: Parameters<FetchPage>) => Promise<CandlePage>
  readonly upbitPerSecond: number
  /** Multiplies the pace, for exchanges whose limits are higher. @default 1 */
  readonly speed?: number | undefined
  /** What is thrown instead of waited out. @default nothing */
  readonly isFinal?: ((thrown: unknown) => boolean) | undefined
}

/** Requests for both exchanges' candles, at an even pace each, and a pause where an exchange needs one. */
export class CandleRequests {
  readonly #exchanges: Readonly<Record<Exchange, ExchangeRequests>>

  constructor(options: CandleRequestsOptions, context: Context) {
    setMaxListeners(MAX_LISTENERS, context.signal)
    const { upbitPerSecond, speed = 1 } = options
    const requestsTo = (exchange: Exchange, perSecond: number) =>
      new ExchangeRequests(exchange, 1_000 / (perSecond * speed), options, context)
    this.#exchanges = {
      upbit: requestsTo('upbit', upbitPerSecond),
      binance: requestsTo('binance', BINANCE_PER_SECOND),
    }
  }

  /**
   * One page of candles. An exchange's trouble is waited out here, for as long as it takes.
   * @throws what is the market's own trouble
   */
  fetchPage(...[exchange, market, opens]: Parameters<FetchPage>): Promise<CandlePage> {
    return this.#exchanges[exchange].fetch(market, opens)
  }

  status(): readonly CandleRequestStatus[] {
    return [this.#exchanges.upbit.status(), this.#exchanges.binance.status()]
  }
}

class ExchangeRequests {
  readonly #exchange: Exchange
  readonly #spacingMs: Milliseconds
  readonly #options: CandleRequestsOptions
  readonly #context: Context
  /** Markets that failed since the last success. */
  readonly #failing = new Set<Market>()
  /** Refusals, and pauses for other reasons, since the last success. */
  #refusals = 0
  #pauses = 0
  /** Settles when the next request may go out. */
  #gate: Promise<unknown> = Promise.resolve()
  #pause: Promise<void> | undefined
  #problem: string | undefined
  #underWay = 0
  #requests = 0
  #failures = 0

  constructor(exchange: Exchange, spacingMs: Milliseconds, options: CandleRequestsOptions, context: Context) {
    this.#exchange = exchange
    this.#spacingMs = spacingMs
    this.#options = options
    this.#context = context
  }

  status(): CandleRequestStatus {
    const problem = this.#problem
    return { exchange: this.#exchange, requests: this.#requests, failures: this.#failures, problem }
  }

  async fetch(market: Market, opens: Parameters<FetchPage>[2]): Promise<CandlePage> {
    const { clock, signal } = this.#context
    const { fetchPage, isFinal } = this.#options
    for (;;) {
      await this.#turn()
      let waitMs: Milliseconds
      try {
        const page = await fetchPage(this.#exchange, market, opens)
        this.#recover(page)
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        this.#failures += 1
        if (isFinal?.(thrown)) throw thrown
        waitMs = this.#waitAfter(market, thrown)
      } finally {
        this.#underWay -= 1
      }
      await clock.wait(waitMs, signal)
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
    this.#requests += 1
  }

  #recover({ restMs }: CandlePage): void {
    this.#failing.clear()
    this.#refusals = 0
    this.#pauses = 0
    this.#problem = undefined
    if (restMs !== undefined) this.#holdFor(restMs)
  }

  #holdFor(waitMs: Milliseconds): Promise<void> {
    const { clock, signal } = this.#context
    const hold = clock.wait(waitMs, signal)
    this.#gate = Promise.all([this.#gate, hold])
    return hold
  }

  /** How long the failed request itself waits. @throws what is the market's own trouble */
  #waitAfter(market: Market, thrown: unknown): Milliseconds {
    const { random } = this.#context
    if (thrown instanceof HttpError && FOR_ALL.includes(thrown.status)) {
      this.#refusals += 1
      if (thrown.status !== 429) return this.#pauseFor(retryDelay(this.#refusals - 1, random, thrown), thrown)
      return this.#waitAfter429(thrown)
    }
    if (!isRefusal(thrown)) this.#failing.add(market)
    if (!SHARED_MARKETS.has(market) && this.#failing.size < MANY_MARKETS) throw thrown
    return this.#pauseFor(retryDelay(this.#pauses++, random, thrown), thrown)
  }

  /** At our pace a lone 429 says nothing about the next request, unless the exchange names a time. */
  #waitAfter429(refusal: HttpError): Milliseconds {
    const grown = Math.min(NEXT_SECOND_MS * 2 ** (this.#refusals - 1), MAX_429_MS)
    const waitMs = Math.max(refusal.retryAfterMs ?? 0, grown) * (1 + 0.1 * this.#context.random())
    const isNamed = (refusal.retryAfterMs ?? 0) > (this.#exchange === 'upbit' ? NEXT_SECOND_MS : 0)
    return this.#refusals === 1 && !isNamed ? waitMs : this.#pauseFor(waitMs, refusal)
  }

  #pauseFor(waitMs: Milliseconds, thrown: unknown): Milliseconds {
    this.#problem = messageOf(thrown)
    if (this.#pause !== undefined) return 0
    const fields = { exchange: this.#exchange, reason: this.#problem, waitMs: Math.round(waitMs) }
    this.#context.log.warn(fields, 'candles wait')
    this.#pause = this.#holdFor(waitMs).then(() => {
      this.#pause = undefined
    })
    return 0
  }
}

/** Whether the exchange has understood the request and declined it. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
