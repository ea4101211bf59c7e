import type { IncomingMessage } from 'node:http'
import { type EpochMinute, type EpochMs, type Milliseconds, minuteStart } from '@kimchi/core'
import type { FastifyReply } from 'fastify'
import type { Document } from '../documents/document.ts'
import { type AcceptedCoding, type AcceptedCodings, acceptedCodings } from './accepted-codings.ts'

/** A whole HTTP response. */
export interface HttpResponse {
  readonly status: number
  /** Names and values in turn, as Node sends them without a copy. */
  readonly headers: string[]
  readonly body?: Buffer | undefined
}

/** What @fastify/cors puts on the responses it sees; here on all others. */
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

/** Sends a response past the framework, which would add nothing but time. */
export function send(reply: FastifyReply, { status, headers, body }: HttpResponse): void {
  reply.hijack()
  reply.raw.writeHead(status, headers).end(body)
}

/** Seconds for which a document stays the newest: until the next is due, 5 when that is overdue. */
export function maxAgeAt(now: EpochMs, newestMinute: EpochMinute): number {
  const left = minuteStart(newestMinute) + NEXT_AFTER_MS - now
  // A clock that is behind must not make anyone keep a response for long.
  if (left > NEXT_AFTER_MS) return NEXT_AFTER_MS / 1_000
  return left < -OVERDUE_MS ? OVERDUE_MAX_AGE : Math.max(1, Math.ceil(left / 1_000))
}

/** What of a request its response depends on. */
type Asked = Pick<IncomingMessage, 'method' | 'headers'>

/**
 * The response of a document to a GET or HEAD: 200 in the best coding there is, or 304 when the client has
 * it already; undefined while its body is still to be coded. The only place that decides this.
 */
export function respond(document: Document, asked: Asked, now: EpochMs): HttpResponse | undefined {
  const codings = codingsFor(document, asked)
  const known = knownCoding(document, codings, asked.headers['if-none-match'])
  const response = preparedFor(document, known ?? codings[0], known === undefined ? 200 : 304, now)
  return asked.method === 'HEAD' && response !== undefined ? { ...response, body: undefined } : response
}

/** Has the body coded that {@link respond} needs for this request. */
export async function codeFor(document: Document, asked: Asked): Promise<void> {
  const [coding] = codingsFor(document, asked)
  if (coding !== 'identity') await document.code(coding)
}

function codingsFor({ isCodable }: Document, { headers }: Asked): AcceptedCodings {
  return isCodable ? acceptedCodings(headers['accept-encoding'] as string | undefined) : ['identity']
}

/** A response, and the `max-age` with which it was made. */
interface Prepared extends HttpResponse {
  readonly maxAge: number
}

/** The newest responses of each document: nearly all requests of a second get the same one. */
const prepared = {
  200: new WeakMap<Document, Map<AcceptedCoding, Prepared>>(),
  304: new WeakMap<Document, Map<AcceptedCoding, Prepared>>(),
}

function preparedFor(document: Document, coding: AcceptedCoding, status: 200 | 304, now: EpochMs) {
  const maxAge = maxAgeAt(now, document.minute)
  const responses = prepared[status].get(document) ?? new Map<AcceptedCoding, Prepared>()
  const known = responses.get(coding)
  if (known?.maxAge === maxAge) return known
  const body = coding === 'identity' ? document.plain : document.coded(coding)
  if (status === 200 && body === undefined) return undefined
  const response = { ...prepare(document, coding, maxAge, status === 200 ? body : undefined), maxAge }
  prepared[status].set(document, responses.set(coding, response))
  return response
}

/** @param body undefined for 304 */
function prepare(document: Document, coding: AcceptedCoding, maxAge: number, body: Buffer | undefined) {
  const ofBody = body && {
    ...JSON_HEADERS,
    'content-length': String(body.length),
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  }
  const headers = {
    ...ofBody,
    etag: etagOf(document, coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
    ...CORS_HEADERS,
  }
  return { status: body === undefined ? 304 : 200, headers: Object.entries(headers).flat(), body }
}

/** The strong ETag of a document in a coding, with its quotes. */
export function etagOf({ tag }: Pick<Document, 'tag'>, coding: AcceptedCoding): string {
  return coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`
}

/**
 * The coding whose tag the client sent, among those it still accepts: a tag of another coding would make
 * it keep bytes it can't read. Weak comparison; `*` matches anything. @see RFC 9110 §13.1.2
 */
function knownCoding(document: Document, codings: AcceptedCodings, ifNoneMatch: string | undefined) {
  if (ifNoneMatch === undefined) return undefined
  if (ifNoneMatch.trim() === '*') return codings[0]
  // A tag comes with its quotes and can hold none, so that it is never found inside another.
  return codings.find(coding => ifNoneMatch.includes(etagOf(document, coding)))
}
