import { DAY_MS, type EpochMs, type Milliseconds } from '@kimchi/core'

/**
 * How long to stay away, by status, where the exchange names no time itself: a ban; too many requests, which Upbit
 * counts by the second; and a refused region, in case the operator has changed the route.
 */
export const OWN_WAIT_MS: Readonly<Record<number, Milliseconds>> = { 418: 300_000, 429: 1_000, 451: 600_000 }

/** Only who counts our requests knows of a longer wait; an overloaded server guesses. */
const COUNTS_REQUESTS: readonly number[] = [418, 429]
const LONGEST_GUESS_MS: Milliseconds = 120_000

/** Binance bans for up to three days. */
const LONGEST_MS: Milliseconds = 3 * DAY_MS

/** The forms of a date of HTTP. The last one names no zone, and is UTC. */
const HTTP_DATES: readonly RegExp[] = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
]

/** Binance writes the end of a ban into the text of a 418, in milliseconds. */
const BANNED_UNTIL = /banned until (\d{13})\b/

/**
 * The wait that a refusal states, never shorter than our own for its status; undefined where it states none that can
 * be believed. A `Retry-After` is whole or decimal seconds, a time in seconds since 1970 or a date of HTTP, at most
 * three days ahead.
 * @param body of the answer
 */
export function statedWait(
  { status, header, body = '' }: { status: number; header: string | null | undefined; body?: string },
  now: EpochMs,
): Milliseconds | undefined {
  const bannedUntil = status === 418 ? BANNED_UNTIL.exec(body)?.[1] : undefined
  const stated = [parseRetryAfter(header ?? '', now), Number(bannedUntil) - now].filter(ms =>
    isBelieved(status, ms),
  )
  return stated.length === 0 ? undefined : Math.max(...stated, OWN_WAIT_MS[status] ?? 0)
}

function isBelieved(status: number, ms: Milliseconds): boolean {
  return ms > 0 && ms <= (COUNTS_REQUESTS.includes(status) ? LONGEST_MS : LONGEST_GUESS_MS)
}

/** NaN for what is neither a number nor a date of HTTP. */
function parseRetryAfter(header: string, now: EpochMs): Milliseconds {
  if (HTTP_DATES.some(form => form.test(header))) return Date.parse(header.replace(/\d{4}$/, '$& GMT')) - now
  if (!/^\d+(\.\d+)?$/.test(header)) return Number.NaN
  const ms = Math.ceil(Number(header)) * 1_000
  return ms > LONGEST_MS ? ms - now : ms
}
