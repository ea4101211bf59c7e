import type { Clock, EpochMs, Milliseconds } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'

/**
 * A clock that runs faster than real time. All processes of a testbed read the same time from the machine's
 * clock.
 */
export interface FastClock extends Clock {
  /** Its milliseconds per real millisecond. */
  readonly factor: number
  /** Lets it jump. Processes started before don't notice: end them first. */
  jump(ms: Milliseconds): void
  /** Resolves when it has reached `at`. */
  until(at: EpochMs): Promise<void>
  /** What {@link createFastClock} needs in another process, as JSON. */
  toJSON(): Parameters<typeof createFastClock>
}

/** A clock that stood at `startAt` at `realStartAt`, and goes `factor` times as fast as real time. */
export function createFastClock(
  startAt: EpochMs,
  factor: number,
  realStartAt: EpochMs = Date.now(),
): FastClock {
  let start = startAt
  const now = () => start + (Date.now() - realStartAt) * factor
  const wait = (ms: Milliseconds, signal?: AbortSignal) => systemClock.wait(ms / factor, signal)
  return {
    factor,
    now,
    elapsed: () => systemClock.elapsed() * factor,
    wait,
    jump(ms) {
      start += ms
    },
    async until(at) {
      while (now() < at) await wait(at - now())
    },
    toJSON: () => [start, factor, realStartAt],
  }
}
