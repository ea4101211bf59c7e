/** The API's own codes. */
export type ServiceErrorCode =
  | 'invalid_symbol'
  | 'invalid_days'
  | 'bad_request'
  | 'bad_url'
  | 'unknown_symbol'
  | 'no_such_route'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'too_many_requests'
  | 'headers_too_large'
  | 'internal'
  | 'not_ready'
  | 'history_not_ready'
  | 'unavailable'

/**
 * A code of the API, or one of two for answers that did not come from it: `unreachable` (no answer in time)
 * and `bad_answer` (not the API's JSON, such as a proxy's error page). Any other string too, since v1 may add
 * codes.
 */
export type ApiErrorCode = ServiceErrorCode | 'unreachable' | 'bad_answer' | (string & Record<never, never>)

export interface ApiErrorOptions extends ErrorOptions {
  readonly code: ApiErrorCode
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
}

/** Why a request to the API failed. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ApiErrorCode
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined
  /** The whole seconds of `Retry-After`, in milliseconds; undefined for anything else, or too long a wait. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { code, status, retryAfterMs, cause }: ApiErrorOptions) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}
