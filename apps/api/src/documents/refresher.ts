import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * Runs a refresh on demand, never two at a time: all calls during a run share one more run after it.
 * @param refresh must not reject
 */
export function createRefresher(refresh: () => Promise<void>, clock: Clock) {
  const closed = new AbortController()
  let running: Promise<void> | undefined
  let isWanted = false
  let isDue = false
  const run = async () => {
    while (isWanted && !closed.signal.aborted) {
      isWanted = false
      await refresh()
    }
    running = undefined
  }
  const now = () => {
    isWanted = true
    running ??= run()
    return running
  }
  return {
    /** The run under way, if any. */
    running: () => running,
    /** Starts a run, or one more after the run under way. Resolves when no run is left to do. */
    now,
    /** Like `now`, after `ms`; calls within that time share one run. */
    async soon(ms: Milliseconds): Promise<void> {
      if (isDue) return
      isDue = true
      await clock.wait(ms, closed.signal)
      isDue = false
      await now()
    },
    /** Starts no more runs. A run under way may hang on a Redis that does not answer: nobody waits for it. */
    close: () => closed.abort(),
  }
}
