/** Time as the client needs it; `wait` ends early, without an error, when the signal aborts. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

/** Milliseconds since the epoch of a time that the API wrote, which is UTC without saying so. */
export function utcMs(time: string): number {
  return Date.parse(`${time}Z`)
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) =>
    new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
    }),
}

/** A cache may serve a response that is a minute old, with the `Date` of that minute. */
const OLDEST_DATE_MS = 75_000

/**
 * What to add to the own clock to have the server's. An own clock that a cached answer could explain is
 * believed; one that lags behind the answer's `Date`, or is far ahead of it, is wrong.
 */
export function clockOffset(now: number, date: string | null): number {
  const ahead = now - Date.parse(date ?? '')
  return ahead < -1_000 || ahead > OLDEST_DATE_MS ? -ahead : 0
}
