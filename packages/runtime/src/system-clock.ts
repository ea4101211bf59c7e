import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '@kimchi/core'

/** The machine's own clock: wall time from `Date.now`, elapsed time from its monotonic clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  wait: (ms, signal) =>
    delay(ms, undefined, signal && { signal }).catch(thrown => {
      if (!signal?.aborted) throw thrown
    }),
}
