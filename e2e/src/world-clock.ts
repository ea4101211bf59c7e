import { setTimeout as delay } from 'node:timers/promises'
import type { Clock, EpochMs, Milliseconds } from '@kimchi/core'
import type { SimulatorClock } from '@kimchi/simulator'

/** Time of a world that turns faster than ours. All its processes read the same time from the machine's clock. */
export interface WorldClock extends Clock, SimulatorClock {
  /** World milliseconds per real millisecond. */
  readonly factor: number
  /** Lets the world's time jump. Processes started before don't notice: end them first. */
  jump(ms: Milliseconds): void
  /** Resolves when the world's time has reached `at`. */
  until(at: EpochMs): Promise<void>
  /** What another process needs to have the same time, for {@link clockFrom}. */
  readonly text: string
}

/** Starts a world's time at `startAt`, `factor` times as fast as ours. */
export function openWorldClock(startAt: EpochMs, factor: number): WorldClock {
  const realStart = Date.now()
  let worldStart = startAt
  const now = () => worldStart + (Date.now() - realStart) * factor
  const wait = (ms: Milliseconds, signal?: AbortSignal) => waitReal(ms / factor, signal)
  return {
    factor,
    now,
    wait,
    every(ms, run) {
      const timer = setInterval(run, ms / factor)
      return () => clearInterval(timer)
    },
    jump(ms) {
      worldStart += ms
    },
    async until(at) {
      while (now() < at) await wait(at - now())
    },
    get text() {
      return [realStart, worldStart, factor].join(',')
    },
  }
}

/** The clock that {@link WorldClock.text} tells of. */
export function clockFrom(text: string): Clock {
  const [realStart = Number.NaN, worldStart = Number.NaN, factor = Number.NaN] = text.split(',').map(Number)
  return {
    now: () => worldStart + (Date.now() - realStart) * factor,
    wait: (ms, signal) => waitReal(ms / factor, signal),
  }
}

function waitReal(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  return delay(ms, undefined, signal && { signal }).catch(thrown => {
    if (!signal?.aborted) throw thrown
  })
}
