import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * Runs a refresh when asked, never two at a time: whatever is asked while one runs becomes one more run
 * after it. @param refresh must not reject
 */
export function openRefresher(refresh: () => Promise<void>, clock: Clock) {
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
    /** Starts a run, or one more after the run under way. Resolves when nothing is left to do. */
    now,
    /** Like `now` after `ms`; asked many times within it, it runs once. */
    async soon(ms: Milliseconds): Promise<void> {
      if (isDue) return
      isDue = true
      await clock.wait(ms, closed.signal)
      isDue = false
      await now()
    },
    /** Starts nothing more. A run under way may hang on a Redis that does not answer: it is not waited for. */
    close: () => closed.abort(),
  }
}
