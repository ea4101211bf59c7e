import { DAYS } from './parameters.ts'

export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS'

/**
 * Everything that can be wrong with a request or with the service. The edge in front sends
 * `too_many_requests` and `unavailable`, the API never does. `message` is for people; 5xx messages are fixed,
 * so that they leak nothing.
 */
export const ERRORS = {
  invalid_symbol: {
    status: 400,
    message: 'symbol must be a coin ticker of 1 to 20 letters and digits, such as BTC',
  },
  invalid_days: {
    status: 400,
    message: `days must be an integer from ${DAYS.minimum} to ${DAYS.maximum}, given once`,
  },
  bad_request: { status: 400, message: 'the request is not well-formed HTTP' },
  bad_url: { status: 400, message: 'the path is not a well-formed URL path' },
  unknown_symbol: { status: 404, message: 'symbol is not tracked' },
  no_such_route: {
    status: 404,
    message: 'routes are /api/v1/kimchi-premium and /api/v1/kimchi-premium/{symbol}/daily',
  },
  method_not_allowed: { status: 405, message: `method must be one of ${ALLOWED_METHODS}` },
  request_timeout: { status: 408, message: 'the request took too long to arrive' },
  too_many_requests: {
    status: 429,
    message: 'too many requests from your address, try again after Retry-After seconds',
  },
  headers_too_large: { status: 431, message: 'request line and headers are too large' },
  internal: { status: 500, message: 'something went wrong on our side' },
  not_ready: { status: 503, message: 'nothing has been published yet, try again soon' },
  history_not_ready: { status: 503, message: 'this history could not be read yet, try again soon' },
  unavailable: { status: 503, message: 'the service is being restarted, try again soon' },
} as const satisfies Readonly<Record<string, { status: number; message: string }>>

/** Callers decide by it, so a code never changes. */
export type ErrorCode = keyof typeof ERRORS
