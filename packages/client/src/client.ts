import { type AskOptions, ask } from './ask.ts'
import { ApiError } from './errors.ts'
import { createServerClock } from './server-clock.ts'
import { type Clock, systemClock } from './time.ts'
import type { History, LiveList } from './types.ts'
import { type LiveUpdate, type WatchOptions, watch } from './watch.ts'

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
  const how = (signal?: AbortSignal): AskOptions => ({
    // Read at each request, so that a page may replace it.
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs,
    signal,
  })
  const serverClock = createServerClock(clock)
  const askLive = (signal?: AbortSignal) => ask<LiveList>(root, how(signal))
  return {
    live: async ({ signal } = {}) => (await askLive(signal)).body,
    daily: async (symbol, { days, signal } = {}) => {
      // `..` would ask for another document.
      if (!/^\w{1,20}$/.test(symbol)) throw new ApiError(`no symbol: ${symbol}`, { code: 'invalid_symbol' })
      const query = days === undefined ? '' : `?days=${days}`
      return (await ask<History>(`${root}/${symbol}/daily${query}`, how(signal))).body
    },
    watch: (onUpdate, watchOptions = {}) =>
      watch({ askLive, clock, serverClock, random }, onUpdate, watchOptions),
  }
}
