/** Time as the client needs it; `wait` ends early, without an error, when the signal aborts. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

/** Milliseconds since the epoch of a time as the API writes it: UTC without a zone. */
export function utcMs(time: string): number {
  return Date.parse(`${time}Z`)
}

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
