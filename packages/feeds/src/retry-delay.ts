import type { Milliseconds } from '@kimchi/core'
import { HttpError } from './http-error.ts'
import { OWN_WAIT_MS } from './retry-after.ts'

/** The first retry comes fast, so that a long-lived connection that breaks costs no minute. */
const FIRST_MS: Milliseconds = 500
const CAP_MS: Milliseconds = 30_000

/** Late by a random part of a stated wait, never early: coming back too soon turns a 429 into a ban. */
const SPREAD_MS: Milliseconds = 30_000

/**
 * How long to wait before another attempt, in milliseconds: 0.5 s doubling to 30 s, of which a random half is
 * taken off so that many clients don't come back together. Only `Retry-After`, 418 and 451 wait longer.
 * @param attempt failures in a row before this one, from 0
 * @param random as `Math.random`
 */
export function retryDelay(attempt: number, random: () => number, cause?: unknown): Milliseconds {
  const full = Math.min(FIRST_MS * 2 ** attempt, CAP_MS)
  const delay = full / 2 + (full / 2) * random()
  if (!(cause instanceof HttpError) || cause.retryAfterMs === undefined) return delay
  const { retryAfterMs } = cause
  return Math.max(delay, retryAfterMs + Math.min(retryAfterMs / 10, SPREAD_MS) * random())
}

/** Whether a failure means that the exchange has shut us out, so that an operator should look. */
export function isBlocked(cause: unknown): boolean {
  return cause instanceof HttpError && cause.status in OWN_WAIT_MS
}
