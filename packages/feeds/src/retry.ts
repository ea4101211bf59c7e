import { type Context, isWorthALine, type Milliseconds } from '@kimchi/core'
import { HttpError } from './http-error.ts'

/** The first retry comes fast, so that a long-lived connection that breaks costs no minute. */
const FAST = { firstMs: 500, capMs: 30_000 }

/** Late by a random part of a stated wait, never early: coming back too soon turns a 429 into a ban. */
const SPREAD_MS: Milliseconds = 30_000

/** The attempts at one piece of work: how often it failed in a row, and how long it waits before the next one. */
export class Retry {
  failures = 0
  readonly #context: Context
  readonly #bounds: Readonly<Record<'firstMs' | 'capMs', Milliseconds>>

  constructor(context: Context, bounds = FAST) {
    this.#context = context
    this.#bounds = bounds
  }

  /** The work has succeeded. */
  reset(): void {
    this.failures = 0
  }

  /**
   * Counts a failure. Returns how long to wait before another attempt: by default 0.5 s doubling to 30 s, less a
   * random part of up to half of it, so that many clients don't come back together. Only an {@link HttpError} with
   * a wait makes it longer.
   */
  delay(cause?: unknown): Milliseconds {
    const { random } = this.#context
    const { firstMs, capMs } = this.#bounds
    const full = Math.min(firstMs * 2 ** this.failures++, capMs)
    const delay = full / 2 + (full / 2) * random()
    if (!(cause instanceof HttpError) || cause.retryAfterMs === undefined) return delay
    const { retryAfterMs } = cause
    return Math.max(delay, retryAfterMs + Math.min(retryAfterMs / 10, SPREAD_MS) * random())
  }

  /**
   * Counts a failure, and waits before another attempt; the 1st, 10th, 100th and 1,000th in a row get a line, then
   * every 10,000th. Does nothing once the signal has aborted: what fails then fails because of that.
   */
  async wait(cause: unknown, line: string): Promise<void> {
    const { clock, log, signal } = this.#context
    if (signal.aborted) return
    const delayMs = this.delay(cause)
    const { failures } = this
    if (isWorthALine(failures)) log.warn({ err: cause, failures, delayMs: Math.round(delayMs) }, line)
    await clock.wait(delayMs, signal)
  }
}
