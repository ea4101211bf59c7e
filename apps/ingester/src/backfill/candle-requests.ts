import { setMaxListeners } from 'node:events'
import { type Context, type Exchange, type Market, type Milliseconds, messageOf } from '@kimchi/core'
import { type CandlePage, HttpError, retryDelay } from '@kimchi/feeds'
import { type FetchPage, SHARED_MARKETS } from './candle-book.ts'

/** Requests under way at once to one exchange: enough to use its rate limit, however long an answer takes. */
const AT_ONCE = 4

/** Requests and waits of several coins listen to one signal; more than Node expects, and bounded. */
const MAX_LISTENERS = 100

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

/** Requests for both exchanges' candles: several at once, and a pause where an exchange needs one. */
export interface CandleRequests {
  /**
   * One page of candles. An exchange's trouble is waited out here, for as long as it takes.
   * @throws what is the market's own trouble
   */
  readonly fetchPage: FetchPage
  status(): readonly CandleRequestStatus[]
}

/**
 * Requests made with `fetchPage`. Each exchange has its own queue, so that neither waits for the other.
 * @param isFinal what is thrown instead of waited out @default nothing
 */
export function createCandleRequests(
  fetchPage: FetchPage,
  context: Context,
  isFinal: (thrown: unknown) => boolean = () => false,
): CandleRequests {
  setMaxListeners(MAX_LISTENERS, context.signal)
  const requestsTo = (exchange: Exchange) => new ExchangeRequests(exchange, fetchPage, context, isFinal)
  const requests = { upbit: requestsTo('upbit'), binance: requestsTo('binance') }
  return {
    fetchPage: (exchange, market, opens) => requests[exchange].fetch(market, opens),
    status: () => [requests.upbit.status(), requests.binance.status()],
  }
}

class ExchangeRequests {
  readonly #exchange: Exchange
  readonly #fetchPage: FetchPage
  readonly #context: Context
  readonly #isFinal: (thrown: unknown) => boolean
  readonly #queue: (() => void)[] = []
  /** Markets that failed since the last success. */
  readonly #failing = new Set<Market>()
  /** Refusals, and pauses for other reasons, since the last success. */
  #refusals = 0
  #pauses = 0
  #pause: Promise<void> | undefined
  #problem: string | undefined
  #underWay = 0
  #requests = 0
  #failures = 0

  constructor(
    exchange: Exchange,
    fetchPage: FetchPage,
    context: Context,
    isFinal: (thrown: unknown) => boolean,
  ) {
    this.#exchange = exchange
    this.#fetchPage = fetchPage
    this.#context = context
    this.#isFinal = isFinal
  }

  status(): CandleRequestStatus {
    const problem = this.#problem
    return { exchange: this.#exchange, requests: this.#requests, failures: this.#failures, problem }
  }

  async fetch(market: Market, opens: Parameters<FetchPage>[2]): Promise<CandlePage> {
    const { clock, signal } = this.#context
    for (;;) {
      await this.#enter()
      let waitMs: Milliseconds
      try {
        const page = await this.#fetchPage(this.#exchange, market, opens)
        this.#recover()
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        this.#failures += 1
        if (this.#isFinal(thrown)) throw thrown
        waitMs = this.#waitAfter(market, thrown)
      } finally {
        this.#leave()
      }
      await clock.wait(waitMs, signal)
    }
  }

  async #enter(): Promise<void> {
    const { signal } = this.#context
    signal.throwIfAborted()
    // After a pause one request goes first: a ban must not be answered with a volley.
    while (this.#pause !== undefined || this.#underWay >= (this.#problem === undefined ? AT_ONCE : 1)) {
      await (this.#pause ?? new Promise<void>(resolve => this.#queue.push(resolve)))
      signal.throwIfAborted()
    }
    this.#underWay += 1
    this.#requests += 1
  }

  #leave(): void {
    this.#underWay -= 1
    for (const next of this.#queue.splice(0)) next()
  }

  #recover(): void {
    this.#failing.clear()
    this.#refusals = 0
    this.#pauses = 0
    this.#problem = undefined
  }

  /** How long the failed request waits before it is made again. @throws what is the market's own trouble */
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
    const { clock, signal, log } = this.#context
    this.#problem = messageOf(thrown)
    if (this.#pause !== undefined) return 0
    log.warn({ exchange: this.#exchange, reason: this.#problem, waitMs: Math.round(waitMs) }, 'candles wait')
    this.#pause = clock.wait(waitMs, signal).then(() => {
      this.#pause = undefined
    })
    return 0
  }
}

/** Whether the exchange has understood the request and declined it. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
