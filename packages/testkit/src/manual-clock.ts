import type { Clock, EpochMs, Milliseconds } from '@kimchi/core'

export function createManualClock(now: EpochMs): ManualClock {
  return new ManualClock(now)
}

export type { ManualClock }

/** A clock for tests: time stands still until {@link ManualClock.advance}. */
class ManualClock implements Clock {
  #now: EpochMs
  #elapsed: Milliseconds = 0
  #waits: { readonly due: Milliseconds; readonly resolve: () => void }[] = []
  #held = 0

  constructor(now: EpochMs) {
    this.#now = now
  }

  /** How many waits are not yet due; none while something takes real time. */
  get waiting(): number {
    return this.#held > 0 ? 0 : this.#waits.length
  }

  /** Lets this take real time, and none of the clock's. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held += 1
    try {
      return await work
    } finally {
      this.#held -= 1
    }
  }

  now(): EpochMs {
    return this.#now
  }

  elapsed(): Milliseconds {
    return this.#elapsed
  }

  wait(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const settle = () => {
        this.#waits = this.#waits.filter(other => other !== wait)
        signal?.removeEventListener('abort', settle)
        resolve()
      }
      const wait = { due: this.#elapsed + Math.max(0, ms), resolve: settle }
      this.#waits.push(wait)
      signal?.addEventListener('abort', settle)
    })
  }

  /** Lets time pass: ends each wait that becomes due, in order, and lets all that follows from it run first. */
  async advance(ms: Milliseconds): Promise<void> {
    const until = this.#elapsed + ms
    for (;;) {
      const next = this.#waits.filter(wait => wait.due <= until).sort((a, b) => a.due - b.due)[0]
      const ms = Math.max(0, (next?.due ?? until) - this.#elapsed)
      this.#elapsed += ms
      this.#now += ms
      next?.resolve()
      await settled()
      if (next === undefined) return
    }
  }

  /** Lets time pass while the process stands still: waits that are due meanwhile end with the next advance. */
  pause(ms: Milliseconds): void {
    this.#elapsed += ms
    this.#now += ms
  }

  /** Steps the wall clock without letting any time pass, as an operator or NTP does. */
  step(ms: Milliseconds): void {
    this.#now += ms
  }
}

/**
 * Lets every promise that can settle do so, however long the chain: Node runs a next tick that a promise
 * callback asks for when its queue of promises is empty.
 * @see https://nodejs.org/api/process.html#processnexttickcallback-args
 */
export async function settled(): Promise<void> {
  await undefined
  return new Promise(resolve => process.nextTick(resolve))
}
