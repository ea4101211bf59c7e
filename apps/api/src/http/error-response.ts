import { ALLOWED_METHODS, ERRORS, type ErrorCode } from '../contract/errors.ts'
import { CORS_HEADERS, type HttpResponse, JSON_HEADERS } from './response.ts'

/** Seconds after which a caller may try again after a 503. */
const RETRY_AFTER_S = '5'

/** A message repeats this many characters of a wrong value. */
const SHOWN_LENGTH = 64

/**
 * The JSON response of an error.
 * @param got the wrong value; the message repeats its first 64 characters
 */
export function errorResponse(code: ErrorCode, got?: string): HttpResponse {
  const { status, message } = ERRORS[code]
  const isShared = status === 404 || (status === 400 && code !== 'bad_request')
  const whole = got === undefined ? message : `${message}, got: ${show(got)}`
  const body = JSON.stringify({ result: 'error', code, message: whole })
  const headers = {
    ...JSON_HEADERS,
    'content-length': String(Buffer.byteLength(body)),
    // The URL alone decides these, so a cache may answer everybody for a minute.
    'cache-control': isShared ? 'public, max-age=60' : 'no-store',
    ...(status === 405 ? { allow: ALLOWED_METHODS } : {}),
    ...(status === 503 ? { 'retry-after': RETRY_AFTER_S } : {}),
    ...CORS_HEADERS,
  }
  return { status, headers: Object.entries(headers).flat(), body: [body] }
}

function show(value: string): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text
}
