import {
  type Context,
  type EpochMs,
  type Exchange,
  KimchiError,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import { jsonOf } from './feed/parse-frame.ts'
import { httpErrorOf, Unreachable } from './http-error.ts'
import { statedWait } from './retry-after.ts'

/** An exchange that has not answered after this long is not reached. */
const TIMEOUT_MS: Milliseconds = 10_000

/** A longer answer is refused; the longest, Binance's list, is far shorter. */
const MAX_BYTES = 32 * 1_048_576

/** Our name in every request to an exchange, with the address at which an exchange can complain about us. */
export function userAgentOf(version: string, projectUrl: string): string {
  return `kimchi-premium/${version}${projectUrl === '' ? '' : ` (+${projectUrl})`}`
}

/** The exchange that is asked, and who asks. */
export interface HttpRequest {
  readonly exchange: Exchange
  readonly userAgent: string
  /** @default the platform's */
  readonly fetch?: typeof fetch | undefined
}

/** When a request to an exchange went out, by the wall clock and by elapsed time. */
export interface Asked {
  readonly at: EpochMs
  readonly elapsed: Milliseconds
}

/** A 2xx answer in JSON. */
export interface HttpAnswer {
  readonly asked: Asked
  readonly json: unknown
  readonly text: string
  readonly headers: Headers
}

/**
 * Makes a REST request, the way all of them go out: GET, our name, no cookies, no redirects, and no `Origin`
 * header, since Upbit allows a client with one only one request in ten seconds.
 * @throws HttpError when the exchange refuses, Unreachable without an answer within 10 s, for too long a one, or when
 *   aborted, KimchiError `KIMCHI_ERR_REST` for one that should be JSON and is not
 */
export async function fetchJson(
  url: string,
  { exchange, userAgent, fetch: ask = fetch }: HttpRequest,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<HttpAnswer> {
  const what = `GET ${new URL(url).pathname}`
  const asked = { at: clock.now(), elapsed: clock.elapsed() }
  const { response, text } = await receive(ask, url, userAgent, signal).catch(cause => {
    throw new Unreachable('KIMCHI_ERR_REST', `${exchange} ${what}: ${messageOf(cause)}`, { cause })
  })
  const { status, ok, headers } = response
  const json = jsonOf(text)
  // A gateway that knows nothing of the exchange's paths answers in HTML.
  if (json === undefined && (ok || status === 400 || status === 404)) {
    const message = `${exchange} ${what}: HTTP ${status}, the response is no JSON`
    throw new KimchiError('KIMCHI_ERR_REST', message)
  }
  if (ok) return { asked, json, text, headers }
  const stated = statedWait({ status, header: headers.get('retry-after'), body: text }, clock.now())
  throw httpErrorOf(exchange, what, status, stated)
}

async function receive(
  ask: typeof fetch,
  url: string,
  userAgent: string,
  signal: AbortSignal,
): Promise<{ response: Response; text: string }> {
  // A controller for each request: AbortSignal.any would leave a dependant behind on a long-lived signal.
  const over = new AbortController()
  const abort = () => over.abort(new Error('aborted'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const late = setTimeout(() => over.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS)
  try {
    const headers = { 'user-agent': userAgent }
    const send = () => ask(url, { headers, signal: over.signal, redirect: 'manual' })
    const response = await send().catch(error => {
      if (isReset(error)) return send()
      throw error
    })
    return { response, text: await textOf(response) }
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', abort)
  }
}

/** Whether a connection broke before an answer: a server may end a kept one just when it is used again. */
function isReset(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code)
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`the response is longer than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
