import type { IncomingMessage, ServerResponse } from 'node:http'
import { type EpochMinute, type EpochMs, type Milliseconds, minuteStart } from '@kimchi/core'
import type { Document } from '../documents/document.ts'
import { type AcceptedCoding, acceptedCodings } from './accepted-codings.ts'

/** A whole HTTP response. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** In pieces that follow each other. */
  readonly body: readonly Buffer[]
}

/** A response to be sent many times. */
export interface PreparedResponse extends HttpResponse {
  /** Its headers and those of CORS as one list of names and values, which Node takes without a copy. */
  readonly rawHeaders: string[]
  readonly maxAge: number
}

/** What @fastify/cors puts on every response it sees; here for those that never get there. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
} as const

/** On every response with a body: nothing but JSON is in it. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const

/**
 * From then on nothing newer than minute M can be had soon: the row of M + 1 min comes two to five seconds
 * after.
 */
const NEXT_AFTER_MS: Milliseconds = 63_000
const OVERDUE_MS: Milliseconds = 10_000
const OVERDUE_MAX_AGE = 5

/** Seconds for which a document stays the newest: until the next is due, 5 when that is overdue. */
export function maxAgeAt(now: EpochMs, newestMinute: EpochMinute): number {
  const left = minuteStart(newestMinute) + NEXT_AFTER_MS - now
  // A clock that is behind must not make anyone keep a response for long.
  if (left > NEXT_AFTER_MS) return NEXT_AFTER_MS / 1_000
  return left < -OVERDUE_MS ? OVERDUE_MAX_AGE : Math.max(1, Math.ceil(left / 1_000))
}

/**
 * The response of a document to a GET or HEAD: 200 in the best coding there is, or 304 when the client has
 * it already. The only place that decides this.
 */
export function respond(
  document: Document,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  now: EpochMs,
): PreparedResponse {
  const accepted = acceptedCodings(headers['accept-encoding'] as string | undefined)
  const known = knownCoding(document, accepted, headers['if-none-match'])
  const coding = known ?? accepted.find(candidate => has(document, candidate)) ?? 'identity'
  const response = preparedOf(document, coding, known === undefined ? 200 : 304, now)
  return method === 'HEAD' ? { ...response, body: [] } : response
}

type PreparedResponses = WeakMap<Document, Map<AcceptedCoding, PreparedResponse>>

/** The newest responses of each document: nearly all requests of a second get the same one. */
const prepared: Readonly<Record<200 | 304, PreparedResponses>> = { 200: new WeakMap(), 304: new WeakMap() }

function preparedOf(
  document: Document,
  coding: AcceptedCoding,
  status: 200 | 304,
  now: EpochMs,
): PreparedResponse {
  const maxAge = maxAgeAt(now, document.minute)
  const responses = prepared[status].get(document) ?? new Map<AcceptedCoding, PreparedResponse>()
  const known = responses.get(coding)
  if (known?.maxAge === maxAge) return known
  const response = prepare(document, coding, status, maxAge)
  prepared[status].set(document, responses.set(coding, response))
  return response
}

function prepare(
  document: Document,
  coding: AcceptedCoding,
  status: 200 | 304,
  maxAge: number,
): PreparedResponse {
  const body = status === 304 ? [] : bodyOf(document, coding)
  const ofBody = {
    ...JSON_HEADERS,
    'content-length': String(body.reduce((length, piece) => length + piece.length, 0)),
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  }
  const headers = {
    ...(status === 304 ? {} : ofBody),
    etag: etagOf(document, coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
  }
  return { status, headers, rawHeaders: rawHeadersOf(headers), body, maxAge }
}

function rawHeadersOf(headers: HttpResponse['headers']): string[] {
  return Object.entries({ ...headers, ...CORS_HEADERS }).flat()
}

/** Sends a response past the framework. */
export function sendNow(response: ServerResponse, made: HttpResponse | PreparedResponse): void {
  const { status, headers, body } = made
  response.writeHead(status, 'rawHeaders' in made ? made.rawHeaders : rawHeadersOf(headers))
  if (body.length <= 1) {
    response.end(body[0])
    return
  }
  // Several pieces leave as one.
  response.cork()
  for (const piece of body) response.write(piece)
  response.end()
}

/** The strong ETag of a document in a coding, with its quotes. */
export function etagOf({ tag }: Pick<Document, 'tag'>, coding: AcceptedCoding): string {
  return coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`
}

/**
 * The coding whose tag the client sent, among those it still accepts: a tag of another coding would make
 * it keep bytes it can't read. Weak comparison; `*` matches anything. @see RFC 9110 §13.1.2
 */
function knownCoding(
  document: Document,
  accepted: readonly AcceptedCoding[],
  ifNoneMatch: string | undefined,
): AcceptedCoding | undefined {
  if (ifNoneMatch === undefined) return undefined
  if (ifNoneMatch.trim() === '*') return accepted.find(coding => has(document, coding))
  // A tag comes with its quotes and can hold none, so that it is never found inside another.
  return accepted.find(coding => has(document, coding) && ifNoneMatch.includes(etagOf(document, coding)))
}

function has({ coded }: Document, coding: AcceptedCoding): boolean {
  return coding === 'identity' || coded.has(coding)
}

function bodyOf({ plain, coded }: Document, coding: AcceptedCoding): readonly Buffer[] {
  return (coding === 'identity' ? undefined : coded.get(coding)) ?? plain
}
