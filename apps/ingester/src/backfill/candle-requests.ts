import { type Context, type Exchange, isWorthALine, type Milliseconds, messageOf } from '@kimchi/core'
import { type CandlePage, type CandleRequest, HttpError, type RestClient, Retry } from '@kimchi/feeds'

/**
 * How many candle requests go to Binance for each one to Upbit: at most 25 a second, which uses 3,000 of the
 * 6,000 of weight that Binance allows in a minute.
 * @see docs/exchanges.md#binance-rest
 */
const BINANCE_FOR_ONE = 2.5

/** A 403 or a 451 comes here only after all of the exchange's bases have failed. */
const REFUSES_ALL: readonly number[] = [403, 418, 429, 451]

/** The requests to one exchange. Its instants are of the clock's elapsed time. */
class Line {
  /** The pauses since the last success. */
  readonly retry: Retry
  /** When the next request may go out, and until when a pause lasts. */
  freeAt: Milliseconds = 0
  pausedUntil: Milliseconds = 0
  /** Why it pauses, or paused last. */
  reason = ''
  /** Settles when the last request that waits for a turn has it. */
  last = Promise.resolve()

  constructor(context: Context) {
    this.retry = new Retry(context)
  }
}

/** Asks each exchange for candles at an even pace, and pauses while it refuses us. */
export class CandleRequests {
  readonly #rest: Pick<RestClient, 'fetchCandles'>
  readonly #context: Context
  readonly #lines: Readonly<Record<Exchange, Line>>
  readonly #upbitPerSecond: number

  constructor(rest: Pick<RestClient, 'fetchCandles'>, upbitPerSecond: number, context: Context) {
    this.#rest = rest
    this.#context = context
    this.#lines = { upbit: new Line(context), binance: new Line(context) }
    this.#upbitPerSecond = upbitPerSecond
  }

  /**
   * One page of candles. While the exchange refuses all requests, it waits and asks again.
   * @throws any other failure, which concerns this request alone
   */
  async fetchPage(request: CandleRequest): Promise<CandlePage> {
    const { clock, signal } = this.#context
    const line = this.#lines[request.exchange]
    for (;;) {
      line.last = line.last.then(() => this.#untilFree(request.exchange))
      await line.last
      try {
        const page = await this.#rest.fetchCandles(request)
        line.retry.reset()
        line.freeAt = Math.max(line.freeAt, clock.elapsed() + (page.pauseMs ?? 0))
        return page
      } catch (thrown) {
        signal.throwIfAborted()
        if (!refusesAll(thrown)) throw thrown
        this.#pause(request.exchange, thrown)
      }
    }
  }

  /** Waits until a request to the exchange would be the next one. */
  async untilNoneWaits(exchange: Exchange): Promise<void> {
    await this.#lines[exchange].last.catch(() => {})
  }

  status() {
    const now = this.#context.clock.elapsed()
    return (['upbit', 'binance'] as const).map(exchange => {
      const { pausedUntil, reason } = this.#lines[exchange]
      /** Why requests wait; undefined while they go out. */
      const problem = now < pausedUntil ? reason : undefined
      return { exchange, problem }
    })
  }

  async #untilFree(exchange: Exchange): Promise<void> {
    const { clock, signal } = this.#context
    const line = this.#lines[exchange]
    while (clock.elapsed() < line.freeAt && !signal.aborted)
      await clock.wait(line.freeAt - clock.elapsed(), signal)
    signal.throwIfAborted()
    const perSecond = this.#upbitPerSecond * (exchange === 'binance' ? BINANCE_FOR_ONE : 1)
    line.freeAt = clock.elapsed() + 1_000 / perSecond
  }

  /** Holds all requests back. A request that was sent before the pause, and fails during it, does not prolong it. */
  #pause(exchange: Exchange, thrown: unknown): void {
    const { clock, log } = this.#context
    const line = this.#lines[exchange]
    if (clock.elapsed() < line.pausedUntil) return
    const waitMs = line.retry.delay(thrown)
    line.reason = messageOf(thrown)
    line.pausedUntil = clock.elapsed() + waitMs
    line.freeAt = Math.max(line.freeAt, line.pausedUntil)
    if (isWorthALine(line.retry.failures)) {
      const fields = { exchange, reason: line.reason, waitMs: Math.round(waitMs) }
      log.warn(fields, 'candle requests wait for the exchange')
    }
  }
}

/** Whether the exchange refuses all of our requests, not only one market's: a server's error does if it states a wait. */
function refusesAll(thrown: unknown): thrown is HttpError {
  if (!(thrown instanceof HttpError)) return false
  return REFUSES_ALL.includes(thrown.status) || (thrown.status >= 500 && thrown.retryAfterMs !== undefined)
}

/** Whether the exchange refused the request itself (4xx). */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}
