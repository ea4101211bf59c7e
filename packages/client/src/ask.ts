import { ApiError } from './errors.ts'
import { statedWaitMs } from './retry-after.ts'

/** 25 days: Node ends a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** An answer that holds data. */
export interface Answer<T> {
  readonly body: T
  readonly headers: Headers
}

export interface AskOptions {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  readonly now: () => number
  readonly signal?: AbortSignal | undefined
}

/**
 * Requests one document.
 * @throws ApiError when the answer holds no data, or none comes; the signal's reason when it aborts
 */
export async function ask<T>(url: string, options: AskOptions): Promise<Answer<T>> {
  // A browser's fetch refuses to be called as a method of another object.
  const { fetch, signal, now } = options
  try {
    const timeout = AbortSignal.timeout(Math.min(options.timeoutMs, LONGEST_TIMER_MS))
    const response = await fetch(url, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
    const body = parse(await response.text())
    if (response.ok && body?.result === 'ok' && Array.isArray(body.data)) {
      return { body: body as T, headers: response.headers }
    }
    throw refusal(url, response, body, now())
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (error instanceof ApiError) throw error
    throw new ApiError(`no answer from ${url}`, { code: 'unreachable', cause: error })
  }
}

/** Undefined for a body that is no JSON, such as a proxy's page. */
function parse(text: string): Record<string, unknown> | null | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refusal(url: string, response: Response, body: ReturnType<typeof parse>, now: number) {
  const { status } = response
  const { code, message } = body ?? {}
  const isRefusal = typeof code === 'string' && typeof message === 'string'
  return new ApiError(isRefusal ? message : `${url} answered ${status} without data`, {
    code: isRefusal ? code : 'bad_answer',
    status,
    retryAfterMs: statedWaitMs(status, response.headers.get('retry-after') ?? '', now),
  })
}
