import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '@kimchi/core'

/** The machine's own clock: wall time from `Date.now`, elapsed time from its monotonic clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  // An abort is the only way to reject. Node 22 and newer warn of a negative time.
  wait: (ms, signal) => delay(Math.max(0, ms), undefined, signal && { signal }).catch(() => {}),
}
