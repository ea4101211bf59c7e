import { type Exchange, KimchiError, type KimchiErrorCode, type Milliseconds } from '@kimchi/core'
import { OWN_WAIT_MS } from './retry-after.ts'

/** The refusals that are about us, so that another base would repeat them. */
const ABOUT_US: readonly number[] = [418, 429]

/**
 * Statuses that blame our request. A 400 or 404 without JSON comes from something other than the exchange, and is no
 * {@link HttpError} of a REST request.
 */
const ABOUT_THE_REQUEST: readonly number[] = [400, 404]

/** Statuses that refuse all of our requests: 418 and 429 at once, 403 and 451 when each base has sent them. */
const REFUSES_ALL: readonly number[] = [403, ...ABOUT_US, 451]

/** A REST request had no answer: nobody was reached, or not in time. */
export class Unreachable extends KimchiError {}

/** A non-2xx response to a handshake or a REST call. */
export class HttpError extends KimchiError {
  readonly status: number
  /** How long to stay away at least; undefined where nobody says. */
  readonly retryAfterMs: Milliseconds | undefined

  constructor(
    code: KimchiErrorCode,
    message: string,
    status: number,
    retryAfterMs: Milliseconds | undefined = OWN_WAIT_MS[status],
  ) {
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

/** Whether a failure means that the exchange has shut us out, so that an operator should look. */
export function isBlocked(cause: unknown): boolean {
  return cause instanceof HttpError && [418, 451].includes(cause.status)
}

function meaningOf(status: number): string {
  if (status >= 300 && status < 400) return 'a redirect, not followed'
  if (status === 403) return 'blocked by a firewall or for the region'
  if (status === 418) return 'this address is banned'
  return status === 429 ? 'too many requests' : 'refused'
}

/** Whether a failure is its base's own, so that another one may do better. */
export function isOfItsBase(error: unknown): boolean {
  if (!(error instanceof HttpError)) return true
  const { code, status } = error
  return !ABOUT_US.includes(status) && !(code === 'KIMCHI_ERR_REST' && ABOUT_THE_REQUEST.includes(status))
}

/** Whether the exchange refuses all requests, not only one market's: a server's error does if it states a wait. */
export function refusesAll(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false
  return REFUSES_ALL.includes(error.status) || (error.status >= 500 && error.retryAfterMs !== undefined)
}
