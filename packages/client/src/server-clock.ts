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
export function createServerClock(clock: Clock) {
  let offsetMs = 0
  let last = { sentAt: Number.NaN, aheadMs: Number.NaN }
  return {
    /** Milliseconds to add to this machine's clock. */
    offsetMs: () => offsetMs,
    /** Milliseconds since the epoch. */
    now: () => clock.now() + offsetMs,
    /** Compares this machine's clock with the headers of an answer that has just arrived. */
    compare: (headers: Headers) => {
      const sentAt = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(sentAt)) return
      const aheadMs = clock.now() - (sentAt + ageMs(headers))
      const errorMs = aheadMs + offsetMs
      const isConstant = sentAt !== last.sentAt && Math.abs(aheadMs - last.aheadMs) <= TOLERANCE_MS
      if (errorMs < -DATE_STEP_MS) offsetMs = -aheadMs
      else if (errorMs > OLDEST_COPY_MS && isConstant) offsetMs = -Math.min(aheadMs, last.aheadMs)
      last = { sentAt, aheadMs }
    },
  }
}

function ageMs(headers: Headers): number {
  const age = headers.get('age') ?? ''
  return /^\d{1,9}$/.test(age) ? Number(age) * 1_000 : 0
}
