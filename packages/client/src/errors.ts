import type { components } from './openapi.ts'

/**
 * The API's own codes, and two for answers that did not come from it: `unreachable` (no answer in time) and
 * `bad_answer` (not the API's JSON, such as a proxy's error page).
 */
export type ApiErrorCode = components['schemas']['Error']['code'] | 'unreachable' | 'bad_answer'

/** What {@link ApiError} is made of. */
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
  /** `Retry-After` in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { code, status, retryAfterMs, cause }: ApiErrorOptions) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}
