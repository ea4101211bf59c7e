import type { EpochMs, Milliseconds } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'

/**
 * A clock that stood at `startAt` at `realStartAt`, and goes `factor` times as fast as real time. All processes
 * of a testbed read the same time from the machine's clock.
 */
export function createFastClock(startAt: EpochMs, factor: number, realStartAt: EpochMs = Date.now()) {
  const now = () => startAt + (Date.now() - realStartAt) * factor
  return {
    now,
    elapsed: () => systemClock.elapsed() * factor,
    wait: (ms: Milliseconds, signal?: AbortSignal) => systemClock.wait(ms / factor, signal),
    /** The arguments that make the same clock in another process. */
    toJSON: () => [startAt, factor, realStartAt],
  }
}
