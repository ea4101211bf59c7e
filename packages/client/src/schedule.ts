import type { ApiError } from './errors.ts'

/** The row of M + 1 min is published 2 to 5 s after that instant; the rest of the time is for caches. */
const DUE_AFTER_MS = 65_000
const JITTER_MS = 5_000
const MINUTE_MS = 60_000
const LONGEST_BACKOFF_MS = 300_000
const SHORTEST_RETRY_MS = 5_000
const SHORTEST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 3_600_000

/** After so many retries without data a service is more than just starting, and is asked less often. */
const PATIENT_RETRIES = 6

/** Keeps a wait between 1 s and 1 h, whatever an answer says; NaN, for an unreadable `updated_at`, becomes 60 s. */
export function clampWait(ms: number): number {
  if (Number.isNaN(ms)) return MINUTE_MS
  return Math.min(Math.max(ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS)
}

/** What is known after a good answer. Times in milliseconds since the epoch, by the server's clock. */
export interface Answered {
  readonly updatedAt: number
  readonly now: number
  /** The answer before had the same `updated_at`. */
  readonly isUnchanged: boolean
}

/**
 * Milliseconds until the next request: 65 to 70 s after the newest minute, or after a later one when that has
 * passed without a new minute.
 */
export function waitAfterAnswer({ updatedAt, now, isUnchanged }: Answered, random: () => number): number {
  const isOverdue = isUnchanged && now >= updatedAt + DUE_AFTER_MS
  const due = updatedAt + DUE_AFTER_MS + random() * JITTER_MS
  const notBefore = isOverdue ? now + MINUTE_MS - 3 * JITTER_MS : now
  const missed = Math.max(0, Math.ceil((notBefore - due) / MINUTE_MS))
  return Math.min(due + missed * MINUTE_MS - now, DUE_AFTER_MS + JITTER_MS)
}

/**
 * Milliseconds until the next request after `failures` failed ones in a row: a minute, doubled up to five
 * minutes, and never less than `Retry-After`. Before the first good answer, a server that sends `Retry-After` is
 * starting: it is asked again then, after 5 s at the soonest, and from the seventh time on at intervals that
 * grow to a minute.
 */
export function waitAfterError(
  { retryAfterMs }: Pick<ApiError, 'retryAfterMs'>,
  { failures, answered }: { failures: number; answered: boolean },
  random: () => number,
): number {
  const isStarting = !answered && retryAfterMs !== undefined
  if (isStarting) {
    const doublings = Math.max(0, failures - PATIENT_RETRIES)
    return Math.max(Math.min(MINUTE_MS, SHORTEST_RETRY_MS * 2 ** doublings), retryAfterMs)
  }
  const backoff = Math.min(LONGEST_BACKOFF_MS, MINUTE_MS * 2 ** (failures - 1))
  return Math.max(backoff, retryAfterMs ?? 0) + random() * JITTER_MS
}
