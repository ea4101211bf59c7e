import {
  DAY_MS,
  type EpochMs,
  type Exchange,
  KimchiError,
  type KimchiErrorCode,
  type Milliseconds,
} from '@kimchi/core'

/** The longest stated wait that is believed: Binance bans for up to three days. */
const MAX_RETRY_AFTER_MS: Milliseconds = 3 * DAY_MS

/** A non-2xx response to a handshake or a REST call. */
export class HttpError extends KimchiError {
  readonly status: number
  /** How long the exchange asked us to wait; undefined when it named no time. */
  readonly retryAfterMs: Milliseconds | undefined

  constructor(code: KimchiErrorCode, message: string, status: number, retryAfterMs?: Milliseconds) {
    super(code, message)
    this.name = 'HttpError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The error for a refused request: `KIMCHI_ERR_GEO_BLOCKED` for a 451, else `KIMCHI_ERR_FEED_REFUSED` for a
 * handshake and `KIMCHI_ERR_REST` for a REST call. Its message explains to an operator what the status means
 * and what to do.
 * @param what which request: `handshake`, `GET /api/v3/ticker/price`
 */
export function httpErrorOf(
  exchange: Exchange,
  what: string,
  status: number,
  retryAfterMs?: Milliseconds,
): HttpError {
  const wait = retryAfterMs === undefined ? '' : `, retry in ${Math.ceil(retryAfterMs / 1_000)} s`
  const start = `${exchange} ${what}: HTTP ${status}, `
  if (status === 451) {
    const message = `${start}not served in this region${wait}. ${GEO_BLOCK_ADVICE[exchange]}`
    return new HttpError('KIMCHI_ERR_GEO_BLOCKED', message, status, retryAfterMs)
  }
  const code = what === 'handshake' ? 'KIMCHI_ERR_FEED_REFUSED' : 'KIMCHI_ERR_REST'
  return new HttpError(code, `${start}${meaningOf(status)}${wait}`, status, retryAfterMs)
}

/** A `Retry-After` header as a duration; undefined when it is absent or neither seconds nor a date. */
export function parseRetryAfter(header: string | null | undefined, now: EpochMs): Milliseconds | undefined {
  if (header === null || header === undefined || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

/**
 * What an operator can do where an exchange does not serve the region.
 * @see docs/exchanges.md#binance-rest
 */
const GEO_BLOCK_ADVICE: Readonly<Record<Exchange, string>> = {
  upbit: 'Run it where Upbit answers, or add a proxy there to UPBIT_WS_URL and UPBIT_REST_URL',
  binance:
    'Add wss://data-stream.binance.vision to BINANCE_WS_URL and https://data-api.binance.vision to ' +
    'BINANCE_REST_URL where they are missing, or run it in another region',
}

function meaningOf(status: number): string {
  if (status >= 300 && status < 400) return 'a redirect, not followed'
  if (status === 403) return 'blocked by a firewall or for the region'
  if (status === 418) return 'this address is banned'
  return status === 429 ? 'too many requests' : 'refused'
}
