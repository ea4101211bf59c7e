/**
 * A code of the API, which its OpenAPI document has, or one of two for answers that did not come from it: `unreachable`
 * (no answer in time) and `bad_answer` (not the API's JSON, such as a proxy's error page).
 */
export type ApiErrorCode = 'unreachable' | 'bad_answer' | (string & Record<never, never>)

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
