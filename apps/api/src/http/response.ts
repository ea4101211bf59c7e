import type { IncomingHttpHeaders } from 'node:http'
import { type EpochMinute, type EpochMs, type Milliseconds, minuteStart } from '@kimchi/core'
import { type Body, type Coding, type Document, NEXT_AFTER_MS } from '../documents/document.ts'

export interface HttpResponse {
  readonly status: number
  /** Names and values in turn, as Node sends them without a copy. */
  readonly headers: string[]
  readonly body: Body
}

/** @fastify/cors adds them to preflights; these go on all other responses. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
} as const

/** Headers of every response with a body. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const

const OVERDUE_MS: Milliseconds = 10_000
const OVERDUE_MAX_AGE = 5

/** Seconds until the next document is due; 5 when it is overdue. */
export function maxAgeAt(now: EpochMs, newestMinute: EpochMinute): number {
  const left = minuteStart(newestMinute) + NEXT_AFTER_MS - now
  // A clock that is behind must not make callers keep a response for long.
  if (left > NEXT_AFTER_MS) return NEXT_AFTER_MS / 1_000
  return left < -OVERDUE_MS ? OVERDUE_MAX_AGE : Math.max(1, Math.ceil(left / 1_000))
}

/**
 * The response to a GET, or to a HEAD, of which Node sends no body: 200 in the client's best coding, or 304 when the
 * client has the document already; undefined while the body is not compressed yet. The only place that decides this.
 */
export function respond(
  document: Document,
  headers: IncomingHttpHeaders,
  now: EpochMs,
): HttpResponse | undefined {
  const coding = codingFor(document, headers)
  const status = isKnown(etagOf(document, coding), headers['if-none-match']) ? 304 : 200
  return preparedFor(document, coding, status, maxAgeAt(now, document.minute))
}

/** Compresses the body that {@link respond} needs for this request. */
export async function compressFor(document: Document, headers: IncomingHttpHeaders): Promise<void> {
  const coding = codingFor(document, headers)
  if (coding !== 'identity') await document.compressed?.make(coding)
}

/** The strong ETag of a document in a coding, with its quotes. */
export function etagOf({ tag }: Pick<Document, 'tag'>, coding: AcceptedCoding): string {
  return coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`
}

/** Weak comparison; with its quotes a tag is never found inside another. @see RFC 9110 §13.1.2 */
function isKnown(etag: string, ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag))
}

function codingFor({ compressed }: Document, headers: IncomingHttpHeaders): AcceptedCoding {
  return compressed === undefined ? 'identity' : bestCoding(headers['accept-encoding'] as string | undefined)
}

type AcceptedCoding = Coding | 'identity'

const BR = acceptOf('br')
const GZIP = acceptOf('(?:x-)?gzip')

/**
 * Brotli where a client accepts it, else gzip, else `identity`, even if it refuses that: a readable response beats a
 * 406. The edge's cache.conf says the same.
 * @param acceptEncoding the `Accept-Encoding` header @default ''
 * @see RFC 9110 §12.5.3
 */
export function bestCoding(acceptEncoding = ''): AcceptedCoding {
  if (BR.test(acceptEncoding)) return 'br'
  return GZIP.test(acceptEncoding) ? 'gzip' : 'identity'
}

/** Finds a coding in a list; a q of 0, and one that is none, refuse it. */
function acceptOf(name: string): RegExp {
  const weight = String.raw`;[ \t]*q[ \t]*=[ \t]*(?:1(?:\.0{0,3})?|0\.(?=\d*[1-9])\d{1,3})[ \t]*`
  return new RegExp(String.raw`(?:^|,)[ \t]*${name}[ \t]*(?:${weight})?(?:,|$)`, 'i')
}

function bodyIn(coding: AcceptedCoding, { body, compressed }: Document): Body | undefined {
  if (coding === 'identity') return body
  const bytes = compressed?.get(coding)
  return bytes && [bytes]
}

type Prepared = HttpResponse & { readonly maxAge: number }

/** A document's newest responses, by coding and status: nearly all requests within a second get the same one. */
const PREPARED = new WeakMap<Document, Map<string, Prepared>>()

function preparedFor(document: Document, coding: AcceptedCoding, status: 200 | 304, maxAge: number) {
  const responses = PREPARED.get(document) ?? new Map<string, Prepared>()
  // A string built for each request would have to be hashed for the lookup: nearly all are 200.
  const key = status === 200 ? coding : `${status} ${coding}`
  const known = responses.get(key)
  if (known?.maxAge === maxAge) return known
  const body = status === 200 ? bodyIn(coding, document) : []
  if (body === undefined) return undefined
  const ofBody = {
    ...JSON_HEADERS,
    'content-length': String(body.reduce((sum, part) => sum + Buffer.byteLength(part), 0)),
    // The edge's metric and a probe read a compressed list's age from it.
    'last-modified': new Date(minuteStart(document.minute)).toUTCString(),
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  }
  const headers = {
    ...(status === 200 ? ofBody : {}),
    etag: etagOf(document, coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
    ...CORS_HEADERS,
  }
  const response = { status, headers: Object.entries(headers).flat(), maxAge, body }
  responses.set(key, response)
  PREPARED.set(document, responses)
  return response
}
