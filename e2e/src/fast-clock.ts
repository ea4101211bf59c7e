import { setTimeout as delay } from 'node:timers/promises'
import type { Clock, EpochMs, Milliseconds } from '@kimchi/core'
import type { SimulatorClock } from '@kimchi/simulator'

/**
 * A clock that runs faster than real time. All processes of a testbed read the same time from the machine's
 * clock.
 */
export interface FastClock extends Clock, SimulatorClock {
  /** Its milliseconds per real millisecond. */
  readonly factor: number
  /** Lets it jump. Processes started before don't notice: end them first. */
  jump(ms: Milliseconds): void
  /** Resolves when it has reached `at`. */
  until(at: EpochMs): Promise<void>
  /** What another process needs to have the same time, for {@link clockFrom}. */
  readonly text: string
}

/** A clock that starts at `startAt`, `factor` times as fast as real time. */
export function createFastClock(startAt: EpochMs, factor: number): FastClock {
  const realStart = Date.now()
  let start = startAt
  const now = () => start + (Date.now() - realStart) * factor
  const wait = (ms: Milliseconds, signal?: AbortSignal) => waitReal(ms / factor, signal)
  return {
    factor,
    now,
    elapsed: () => performance.now() * factor,
    wait,
    every(ms, run) {
      const timer = setInterval(run, ms / factor)
      return () => clearInterval(timer)
    },
    jump(ms) {
      start += ms
    },
    async until(at) {
      while (now() < at) await wait(at - now())
    },
    get text() {
      return [realStart, start, factor].join(',')
    },
  }
}

/** The clock that {@link FastClock.text} describes. */
export function clockFrom(text: string): Clock {
  const [realStart = Number.NaN, start = Number.NaN, factor = Number.NaN] = text.split(',').map(Number)
  return {
    now: () => start + (Date.now() - realStart) * factor,
    elapsed: () => performance.now() * factor,
    wait: (ms, signal) => waitReal(ms / factor, signal),
  }
}

function waitReal(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  return delay(ms, undefined, signal && { signal }).catch(thrown => {
    if (!signal?.aborted) throw thrown
  })
}
