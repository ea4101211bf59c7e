import type { Clock } from './time.ts'

/** `Date` has whole seconds. */
const DATE_STEP_MS = 1_000

/** Two answers may differ by this about the same wrong clock: `Date`, `Age` and latency are inexact. */
const TOLERANCE_MS = 5_000

/** In normal operation a cache that sends no `Age` may serve a copy that is a minute old. */
const OLDEST_COPY_MS = 75_000

/**
 * The server's clock: this machine's, corrected by the `Date` and `Age` of answers so that old data never looks
 * newer than it is.
 *
 * A clock that is behind an answer is wrong. One that is ahead may be right: a cache that lost its server
 * serves the same old copy again and again. The difference to such a copy grows; a difference that stays the
 * same under another `Date` is the clock's error.
 */
export class ServerClock {
  readonly #clock: Clock
  #offsetMs = 0
  #last = { sentAt: Number.NaN, aheadMs: Number.NaN }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds to add to this machine's clock. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now() + this.#offsetMs
  }

  /** Compares this machine's clock with the headers of an answer that has just arrived. */
  compare(headers: Headers): void {
    const sentAt = Date.parse(headers.get('date') ?? '')
    if (Number.isNaN(sentAt)) return
    const aheadMs = this.#clock.now() - (sentAt + ageMs(headers))
    const last = this.#last
    this.#last = { sentAt, aheadMs }
    const errorMs = aheadMs + this.#offsetMs
    const isConstant = sentAt !== last.sentAt && Math.abs(aheadMs - last.aheadMs) <= TOLERANCE_MS
    if (errorMs < -DATE_STEP_MS) this.#offsetMs = -aheadMs
    else if (errorMs > OLDEST_COPY_MS && isConstant) this.#offsetMs = -Math.min(aheadMs, last.aheadMs)
  }
}

function ageMs(headers: Headers): number {
  const age = headers.get('age') ?? ''
  return /^\d{1,9}$/.test(age) ? Number(age) * 1_000 : 0
}
