import { type EpochMs, type Exchange, KimchiError, type Milliseconds } from '@kimchi/core'

/** The longest stated wait that is believed: Binance bans for up to three days. */
const MAX_RETRY_AFTER_MS: Milliseconds = 3 * 86_400_000

/** An exchange's HTTP answer that is no success, to a handshake or a REST call. */
export class RefusalError extends KimchiError {
  /** The HTTP status. */
  readonly status: number
  /** How long the exchange asked to stay away, or undefined when it did not say. */
  readonly retryAfterMs: Milliseconds | undefined

  constructor(message: string, status: number, retryAfterMs?: Milliseconds) {
    super(codeOf(status), message)
    this.name = 'RefusalError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The refusal that a status stands for.
 * @param what the request refused, for the message: `handshake`, `GET /api/v3/ticker/price`
 * @param advice what an operator can do when the status is 451
 */
export function refusalOf(
  exchange: Exchange,
  what: string,
  status: number,
  retryAfterMs?: Milliseconds,
  advice?: string,
): RefusalError {
  const wait = retryAfterMs === undefined ? '' : `, to be tried again in ${Math.ceil(retryAfterMs / 1_000)} s`
  const meaning =
    MEANINGS.get(status) ?? (status >= 300 && status < 400 ? 'a redirect, not followed' : 'refused')
  const help = status === 451 && advice !== undefined ? `. ${advice}` : ''
  return new RefusalError(
    `${exchange} ${what}: HTTP ${status}, ${meaning}${wait}${help}`,
    status,
    retryAfterMs,
  )
}

/** A `Retry-After` header as a duration; undefined when it is absent or neither seconds nor a date. */
export function parseRetryAfter(header: string | null | undefined, now: EpochMs): Milliseconds | undefined {
  if (header === null || header === undefined || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

const MEANINGS: ReadonlyMap<number, string> = new Map([
  [403, 'blocked by a firewall'],
  [418, 'this address is banned'],
  [429, 'too many requests'],
  [451, 'not served in this region'],
])

function codeOf(status: number): 'KIMCHI_ERR_GEO_BLOCKED' | 'KIMCHI_ERR_FEED_REFUSED' {
  return status === 451 ? 'KIMCHI_ERR_GEO_BLOCKED' : 'KIMCHI_ERR_FEED_REFUSED'
}
