/** Only who counts requests knows of a longer wait than two minutes; an overloaded server guesses. */
const COUNTS_REQUESTS: readonly number[] = [418, 429]
const LONGEST_GUESS_MS = 120_000
const LONGEST_MS = 259_200_000

/** Each of the three forms of a date of HTTP. The last one names no zone, and is UTC. */
const HTTP_DATE =
  /^[A-Z][a-z]+(, \d\d([ -])[A-Z][a-z]{2}\2(\d\d){1,2} [\d:]{8} GMT| [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/

/**
 * The wait that a `Retry-After` states: seconds from the API, and from a proxy a time in seconds since 1970 or a date,
 * or anything. Undefined for what can't be read, is over, or is too long to be believed.
 */
export function statedWaitMs(status: number, retryAfter: string, now: number): number | undefined {
  const longestMs = COUNTS_REQUESTS.includes(status) ? LONGEST_MS : LONGEST_GUESS_MS
  const ms = parse(retryAfter, now)
  return ms > 0 && ms <= longestMs ? ms : undefined
}

function parse(text: string, now: number): number {
  if (HTTP_DATE.test(text)) return Date.parse(text.replace(/\d{4}$/, '$& GMT')) - now
  if (!/^\d+(\.\d+)?$/.test(text)) return Number.NaN
  const ms = Math.ceil(Number(text)) * 1_000
  return ms > LONGEST_MS ? ms - now : ms
}
