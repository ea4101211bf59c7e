import { type Answer, COMMON_HEADERS, JSON_TYPE } from './answer.ts'
import { daysSchema, type ErrorBody } from './schemas.ts'

/** Methods that both routes answer. */
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS'

/** Seconds after which a caller may try again when there is nothing to answer yet. */
const RETRY_AFTER_S = '5'

/** Stable codes of error answers. */
export type ErrorCode = ErrorBody['code']

/**
 * Everything that can be wrong with a request or with us. `message` is for people; 5xx messages are fixed, so that
 * nothing of the inside gets out. @see design §3
 */
export const ERRORS = {
  invalid_symbol: {
    status: 400,
    message: 'symbol must be a coin ticker of 1 to 20 letters and digits, such as BTC',
  },
  invalid_days: {
    status: 400,
    message: `days must be an integer from ${daysSchema.minimum} to ${daysSchema.maximum}, given once`,
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
  unmet_expectation: { status: 417, message: 'the Expect header asks for something unknown' },
  headers_too_large: { status: 431, message: 'request line and headers are too large' },
  internal: { status: 500, message: 'something went wrong on our side' },
  not_ready: { status: 503, message: 'nothing has been published yet, try again soon' },
} as const satisfies Readonly<Record<ErrorCode, { status: number; message: string }>>

/** How much of a wrong value is repeated in a message. */
const SHOWN_LENGTH = 64

/** Errors that the URL alone decides: everybody gets them, so that caches may answer for a minute. */
const SHARED: ReadonlySet<ErrorCode> = new Set([
  'invalid_symbol',
  'invalid_days',
  'bad_url',
  'unknown_symbol',
  'no_such_route',
])

const fixed = new Map<ErrorCode, Answer>()

/** The JSON answer of an error. @param got the value complained about, repeated (cut to 64 characters) in a 4xx message */
export function errorAnswer(code: ErrorCode, got?: unknown): Answer {
  const { status, message } = ERRORS[code]
  if (got !== undefined && status < 500) return makeAnswer(code, `${message}, got: ${show(got)}`)
  const answer = fixed.get(code) ?? makeAnswer(code, message)
  fixed.set(code, answer)
  return answer
}

function makeAnswer(code: ErrorCode, message: string): Answer {
  const { status } = ERRORS[code]
  const error: ErrorBody = { result: 'error', code, message }
  const body = Buffer.from(JSON.stringify(error))
  return {
    status,
    headers: {
      'content-type': JSON_TYPE,
      'content-length': String(body.length),
      'cache-control': SHARED.has(code) ? 'public, max-age=60' : 'no-store',
      ...(status === 405 ? { allow: ALLOWED_METHODS } : {}),
      ...(status === 503 ? { 'retry-after': RETRY_AFTER_S } : {}),
      ...COMMON_HEADERS,
    },
    body,
  }
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text
}
