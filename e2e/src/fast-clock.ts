import type { EpochMs, Milliseconds } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'

/**
 * A clock that stood at `startAt` at `realStartAt`, and goes `factor` times as fast as real time. All processes
 * of a testbed read the same time from the machine's clock.
 */
export function createFastClock(startAt: EpochMs, factor: number, realStartAt: EpochMs = Date.now()) {
  let start = startAt
  const now = () => start + (Date.now() - realStartAt) * factor
  const wait = (ms: Milliseconds, signal?: AbortSignal) => systemClock.wait(ms / factor, signal)
  return {
    /** Its milliseconds per real millisecond. */
    factor,
    now,
    elapsed: () => systemClock.elapsed() * factor,
    wait,
    /** Lets it jump. Processes started before don't notice: end them first. */
    jump(ms: Milliseconds) {
      start += ms
    },
    /** Resolves when it has reached `at`. */
    async until(at: EpochMs) {
      while (now() < at) await wait(at - now())
    },
    /** The arguments that make the same clock in another process. */
    toJSON: () => [start, factor, realStartAt],
  }
}
