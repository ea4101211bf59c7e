import { type EpochMinute, type EpochMs, minuteStart } from '@kimchi/core'
import { type Coding, compress, type Document, etagOf } from '../documents/document.ts'
import { acceptedCodings } from './coding.ts'

/** A whole HTTP response. Shared between requests, so nothing of it may be changed. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** An {@link HttpResponse} that also has the form in which Node sends it quickest. */
export interface PreparedResponse extends HttpResponse {
  /** Name, value, name, value. */
  readonly flatHeaders: readonly string[]
  /** The body; a short one as latin1 text, a character per byte, which Node joins to the head. */
  readonly payload: Buffer | string | undefined
}

/** The responses of a document in one coding. Headers change at most once a second, and so do these. */
interface PreparedResponses {
  readonly maxAge: number
  readonly full: PreparedResponse
  readonly head: PreparedResponse
  readonly notModified: PreparedResponse
}

/** The parts of a request that decide which response a document gives. */
export interface Conditions {
  readonly method: string
  readonly ifNoneMatch: string | undefined
  readonly acceptEncoding: string | undefined
}

/** On every response: any page may read it, and nothing but JSON is in it. */
export const COMMON_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
  'x-content-type-options': 'nosniff',
} as const

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Bytes up to which a body joined to its head as one text is quicker to send than a buffer of its own. */
const SHORT_BODY = 12_000

/** A row of minute M is there about two seconds after M + 1 min; before that there is nothing newer. */
const NEXT_AFTER_MS = 62_000
const OVERDUE_MS = 10_000
const OVERDUE_MAX_AGE = 5

/** Seconds for which the newest document stays the newest: until the next is due, 5 when that is overdue. */
export function maxAgeAt(now: EpochMs, newestMinute: EpochMinute): number {
  const left = minuteStart(newestMinute) + NEXT_AFTER_MS - now
  // A clock that is behind must not make anyone keep an answer for long.
  if (left > NEXT_AFTER_MS) return NEXT_AFTER_MS / 1_000
  return left < -OVERDUE_MS ? OVERDUE_MAX_AGE : Math.max(1, Math.ceil(left / 1_000))
}

/** The responses last given, by document and coding. */
const prepared = new WeakMap<Document, Map<Coding, PreparedResponses>>()

/**
 * The response of a document to a GET or HEAD: 200 in the best coding at hand, or 304 when the client has it already.
 * The only place that decides this; routes and the fast path both come here.
 * @param maxAge seconds, of {@link maxAgeAt}
 */
export function respond(
  document: Document,
  { method, ifNoneMatch, acceptEncoding }: Conditions,
  maxAge: number,
): PreparedResponse {
  const accepted = acceptedCodings(acceptEncoding)
  if (ifNoneMatch !== undefined) {
    const known = matchingCoding(document, accepted, ifNoneMatch)
    if (known !== undefined) return preparedFor(document, known, maxAge).notModified
  }
  if (accepted.length > 1 && document.compression === 'none') void compress(document)
  const coding = bestAtHand(document, accepted)
  const responses = preparedFor(document, coding, maxAge)
  return method === 'HEAD' ? responses.head : responses.full
}

function bestAtHand({ coded }: Document, accepted: readonly Coding[]): Coding {
  for (const coding of accepted) if (coding === 'identity' || coded.has(coding)) return coding
  return 'identity'
}

/**
 * The coding whose tag the client sent, among those it still accepts: a tag of another coding would make it keep bytes it
 * can't read. Weak comparison; `*` matches anything. @see RFC 9110 §13.1.2
 */
function matchingCoding(
  document: Document,
  accepted: readonly Coding[],
  ifNoneMatch: string,
): Coding | undefined {
  if (ifNoneMatch.trim() === '*') return accepted[0]
  // A tag comes with its quotes and can hold none, so that it is never found inside another.
  return accepted.find(coding => ifNoneMatch.includes(etagOf(document, coding)))
}

function preparedFor(document: Document, coding: Coding, maxAge: number): PreparedResponses {
  // A 304 may be asked for in a coding whose bytes are not made yet; its 200 is made again when they are.
  const body = coding === 'identity' ? document.identity : document.coded.get(coding)
  const byCoding = prepared.get(document) ?? new Map<Coding, PreparedResponses>()
  let responses = byCoding.get(coding)
  if (responses?.maxAge !== maxAge || responses.full.body !== body) {
    responses = prepare(document, coding, body, maxAge)
    prepared.set(document, byCoding.set(coding, responses))
  }
  return responses
}

function prepare(
  document: Document,
  coding: Coding,
  body: Buffer | undefined,
  maxAge: number,
): PreparedResponses {
  const shared = {
    etag: etagOf(document, coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
    ...COMMON_HEADERS,
  }
  const headers = {
    'content-type': JSON_TYPE,
    'content-length': String(body?.length),
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
    ...shared,
  }
  return {
    maxAge,
    full: quickest({ status: 200, headers, body }),
    head: quickest({ status: 200, headers, body: undefined }),
    notModified: quickest({ status: 304, headers: shared, body: undefined }),
  }
}

function quickest(response: HttpResponse): PreparedResponse {
  const { headers, body } = response
  const payload = body !== undefined && body.length <= SHORT_BODY ? body.toString('latin1') : body
  return { ...response, flatHeaders: Object.entries(headers).flat(), payload }
}
