import { ask } from './ask.ts'
import { ApiError } from './errors.ts'
import { clampWait, waitAfterAnswer, waitAfterError } from './schedule.ts'
import { createServerClock } from './server-clock.ts'
import { type Clock, systemClock, utcMs } from './time.ts'
import type { History, LiveList } from './types.ts'

/** Where and how to send requests; everything has a default in a browser. */
export interface ClientOptions {
  /** The part before `/kimchi-premium`. Outside of a browser it must be a whole URL. @default '/api/v1' */
  readonly baseUrl?: string
  /** Milliseconds that an answer may take. @default 10000 */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
  readonly clock?: Clock
  /** From 0 to 1, for jitter. */
  readonly random?: () => number
}

/** What is known after each request. */
export interface LiveUpdate {
  /** The last good answer, also after a failure; undefined until there was one. */
  readonly list: LiveList | undefined
  /** Why the newest request failed; undefined when it did not. */
  readonly error: ApiError | undefined
  /**
   * Milliseconds to add to this machine's clock to get the server's; 0 unless it is clearly wrong. The
   * list's age is the corrected time minus its `updated_at`.
   */
  readonly clockOffsetMs: number
  /** Milliseconds until the next request. */
  readonly nextInMs: number
}

export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined
  /** An older response to start from. */
  readonly last?: LiveList | undefined
}

/** A caller of the API's two routes. */
export interface Client {
  /** The latest premium of every tracked coin. @throws ApiError */
  live(options?: { signal?: AbortSignal | undefined }): Promise<LiveList>
  /** The newest `days` (1 to 3650, 365 when left out) of one coin, oldest first. @throws ApiError */
  daily(
    symbol: string,
    options?: { days?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<History>
  /**
   * Requests the live list at once and then once per minute, 65 to 70 s after its `updated_at`, until the
   * signal aborts. Failures back off, respect `Retry-After` and keep the last good answer.
   */
  watch(onUpdate: (update: LiveUpdate) => void, options?: WatchOptions): Promise<void>
}

/**
 * A client; no request is sent yet.
 * @throws TypeError for a path where there is no page that it could belong to; RangeError for a `timeoutMs` that is no time
 */
export function createClient(options: ClientOptions = {}): Client {
  const { baseUrl = '/api/v1', timeoutMs = 10_000, clock = systemClock, random = Math.random } = options
  // Deno has a location that is undefined.
  if ((globalThis as { location?: unknown }).location === undefined && !/^https?:/i.test(baseUrl)) {
    throw new TypeError(`baseUrl must be a whole URL outside of a browser, got: ${baseUrl}`)
  }
  if (!(timeoutMs >= 0)) throw new RangeError(`timeoutMs must be 0 or more, got: ${timeoutMs}`)
  const root = `${baseUrl.replace(/\/+$/, '')}/kimchi-premium`
  const request = <T>(path: string, signal?: AbortSignal) =>
    ask<T>(`${root}${path}`, {
      // Read at each request, so that a page may replace it.
      fetch: options.fetch ?? globalThis.fetch,
      timeoutMs,
      signal,
    })
  const serverClock = createServerClock(clock)
  const watch: Client['watch'] = async (onUpdate, { signal, last } = {}) => {
    let list = last
    let failures = 0
    let answered = false
    while (!signal?.aborted) {
      let error: ApiError | undefined
      let nextInMs: number
      try {
        const { body, headers } = await request<LiveList>('', signal)
        serverClock.compare(headers)
        const isUnchanged = body.updated_at === list?.updated_at
        const now = serverClock.now()
        nextInMs = waitAfterAnswer({ updatedAt: utcMs(body.updated_at), now, isUnchanged }, random)
        list = body
        answered = true
        failures = 0
      } catch (thrown) {
        if (signal?.aborted) break
        if (!(thrown instanceof ApiError)) throw thrown
        error = thrown
        failures += 1
        nextInMs = waitAfterError(error, { failures, answered }, random)
      }
      nextInMs = clampWait(nextInMs)
      onUpdate({ list, error, clockOffsetMs: serverClock.offsetMs(), nextInMs })
      await clock.wait(nextInMs, signal)
    }
  }
  return {
    live: async ({ signal } = {}) => (await request<LiveList>('', signal)).body,
    daily: async (symbol, { days, signal } = {}) => {
      // `..` would ask for another document.
      if (!/^\w{1,20}$/.test(symbol)) throw new ApiError(`no symbol: ${symbol}`, { code: 'invalid_symbol' })
      const query = days === undefined ? '' : `?days=${days}`
      return (await request<History>(`/${symbol}/daily${query}`, signal)).body
    },
    watch,
  }
}
