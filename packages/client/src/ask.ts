import { ApiError } from './errors.ts'

/** 25 days: Node ends a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Only who counts requests (429) knows of a longer wait than two minutes; an overloaded server guesses. */
const LONGEST_COUNTED_MS = 259_200_000
const LONGEST_GUESS_MS = 120_000

/** An answer that holds data. */
interface Answer<T> {
  readonly body: T
  readonly headers: Headers
}

interface AskOptions {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Requests one document.
 * @throws ApiError when the answer holds no data, or none comes; the signal's reason when it aborts
 */
export async function ask<T>(url: string, options: AskOptions): Promise<Answer<T>> {
  // A browser's fetch refuses to be called as a method of another object.
  const { fetch, signal } = options
  // A controller for each request: AbortSignal.any would leave a dependant behind on a long-lived signal.
  const over = new AbortController()
  const abort = () => over.abort(signal?.reason)
  signal?.addEventListener('abort', abort)
  const endsAfterMs = Math.min(options.timeoutMs, LONGEST_TIMER_MS)
  const timer = setTimeout(() => over.abort(new Error(`no answer within ${endsAfterMs} ms`)), endsAfterMs)
  try {
    signal?.throwIfAborted()
    const response = await fetch(url, { signal: over.signal })
    const body = parse(await response.text())
    if (response.ok && body?.result === 'ok' && Array.isArray(body.data)) {
      return { body: body as T, headers: response.headers }
    }
    throw refusal(url, response, body)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (error instanceof ApiError) throw error
    throw new ApiError(`no answer from ${url}`, { code: 'unreachable', cause: error })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Whole seconds, as the API and its edge send them; undefined for anything else, and for too long a wait. */
function statedWaitMs(status: number, retryAfter: string | null): number | undefined {
  const ms = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : 0
  return ms > 0 && ms <= (status === 429 ? LONGEST_COUNTED_MS : LONGEST_GUESS_MS) ? ms : undefined
}

/** Undefined for a body that is no JSON, such as a proxy's page. */
function parse(text: string): Record<string, unknown> | null | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refusal(url: string, response: Response, body: ReturnType<typeof parse>) {
  const { status } = response
  const { code, message } = body ?? {}
  const isRefusal = typeof code === 'string' && typeof message === 'string'
  return new ApiError(isRefusal ? message : `${url} answered ${status} without data`, {
    code: isRefusal ? code : 'bad_answer',
    status,
    retryAfterMs: statedWaitMs(status, response.headers.get('retry-after')),
  })
}
