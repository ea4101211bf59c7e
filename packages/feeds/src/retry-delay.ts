import type { Milliseconds } from '@kimchi/core'
import { HttpError } from './http-error.ts'

/** The first retry comes fast, so that a long-lived connection that breaks costs no minute. */
const FIRST_MS: Milliseconds = 500
const CAP_MS: Milliseconds = 30_000

/**
 * How long to stay away, by status, where the exchange has shut us out and names no time itself: a ban, and a refused
 * region, in case the operator has changed the route.
 */
const SHUT_OUT_MS: Readonly<Record<number, Milliseconds>> = { 418: 300_000, 451: 600_000 }

/**
 * How long to wait before another attempt, in milliseconds: 0.5 s doubling to 30 s, of which a random half is
 * taken off so that many clients don't come back together. Only `Retry-After`, 418 and 451 wait longer.
 * @param attempt failures in a row before this one, from 0
 * @param random as `Math.random`
 */
export function retryDelay(attempt: number, random: () => number, cause?: unknown): Milliseconds {
  const full = Math.min(FIRST_MS * 2 ** attempt, CAP_MS)
  const delay = full / 2 + (full / 2) * random()
  if (!(cause instanceof HttpError)) return delay
  const asked = cause.retryAfterMs ?? SHUT_OUT_MS[cause.status]
  if (asked === undefined) return delay
  // Late by a random tenth, never early: coming back too soon turns a 429 into a ban.
  return Math.max(delay, asked * (1 + 0.1 * random()))
}

/** Whether a failure means that the exchange has shut us out, so that an operator should look. */
export function isBlocked(cause: unknown): boolean {
  return cause instanceof HttpError && cause.status in SHUT_OUT_MS
}
