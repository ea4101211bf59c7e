import { type Context, type Exchange, KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { httpErrorOf, parseRetryAfter } from './feed/http-error.ts'

/** An exchange that has not answered after this long is not reached. */
const TIMEOUT_MS: Milliseconds = 10_000

const MAX_BYTES = 4 * 1_048_576

/** Our name without version and address. */
export const NAME = 'kimchi-premium'

/** Our name in every request to an exchange, with the address at which an exchange can complain about us. */
export function userAgentOf(version: string, projectUrl: string): string {
  return `${NAME}/${version}${projectUrl === '' ? '' : ` (+${projectUrl})`}`
}

/** The exchange that is asked, and how. */
export interface HttpRequest {
  readonly exchange: Exchange
  readonly userAgent: string
  /** An answer that is longer is refused. @default 4 MiB */
  readonly maxBytes?: number
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

/** A 2xx answer. */
interface TextAnswer {
  readonly text: string
  readonly headers: Headers
}

/** A 2xx answer in JSON. */
export interface HttpAnswer extends TextAnswer {
  readonly json: unknown
}

/**
 * Makes a REST request as {@link getText} does, and parses its answer.
 * @throws as {@link getText}, and KimchiError `KIMCHI_ERR_REST` for an answer that is no JSON
 */
export async function getJson(
  url: string,
  request: HttpRequest,
  clock: Context['clock'],
): Promise<HttpAnswer> {
  const answer = await getText(url, request, clock)
  const json = jsonOf(answer.text)
  if (json !== undefined) return { ...answer, json }
  const what = `${request.exchange} GET ${new URL(url).pathname}`
  throw new KimchiError('KIMCHI_ERR_REST', `${what}: the response is no JSON`)
}

/**
 * Makes a REST request, the way all of them go out: GET, our name, no cookies, no redirects, and no `Origin`
 * header, since Upbit allows a client with one only one request in ten seconds.
 * @throws HttpError when the exchange refuses, KimchiError `KIMCHI_ERR_REST` for a 400 or 404 without JSON, for
 *   too long an answer, without one within 10 s, or when aborted
 */
export async function getText(
  url: string,
  request: HttpRequest,
  clock: Context['clock'],
): Promise<TextAnswer> {
  const { exchange } = request
  const what = `GET ${new URL(url).pathname}`
  const { response, text } = await receive(url, request, `${exchange} ${what}`, clock)
  const { status, ok, headers } = response
  if (ok) return { text, headers }
  // A gateway that knows nothing of the exchange's paths answers in HTML.
  if ((status === 400 || status === 404) && jsonOf(text) === undefined) {
    const message = `${exchange} ${what}: HTTP ${status}, the response is no JSON`
    throw new KimchiError('KIMCHI_ERR_REST', message)
  }
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), clock.now())
  throw httpErrorOf({ exchange, what, status, retryAfterMs })
}

/** The value of a text in JSON, undefined for any other text. No JSON has that value. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function receive(
  url: string,
  { userAgent, maxBytes = MAX_BYTES, signal }: HttpRequest,
  what: string,
  clock: Context['clock'],
): Promise<{ response: Response; text: string }> {
  // A controller for each request: AbortSignal.any would leave a dependant behind on a long-lived signal.
  const over = new AbortController()
  const abort = () => over.abort()
  signal?.addEventListener('abort', abort, { once: true })
  let isLate = false
  void clock.wait(TIMEOUT_MS, over.signal).then(() => {
    isLate = !over.signal.aborted
    abort()
  })
  try {
    signal?.throwIfAborted()
    const headers = { 'user-agent': userAgent }
    const response = await fetch(url, { headers, signal: over.signal, redirect: 'manual' })
    return { response, text: await textOf(response, maxBytes) }
  } catch (error) {
    if (signal?.aborted) throw new KimchiError('KIMCHI_ERR_REST', `${what}: aborted`)
    const why = isLate ? `no answer within ${TIMEOUT_MS} ms` : causeOf(error)
    throw new KimchiError('KIMCHI_ERR_REST', `${what}: ${why}`, { cause: error })
  } finally {
    signal?.removeEventListener('abort', abort)
    abort()
  }
}

async function textOf({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${messageOf(error)}${cause}`
}
