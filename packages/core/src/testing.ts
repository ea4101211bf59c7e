import type { Clock } from './clock.ts'
import type { EpochMs, Milliseconds } from './units.ts'

/** A clock that only a test turns: time stands still until {@link ManualClock.advance}. */
export interface ManualClock extends Clock {
  /** How many waits have not come due. */
  readonly waiting: number
  /** Lets time pass, wait by wait in the order they come due, with room for what each of them sets off. */
  advance(ms: Milliseconds): Promise<void>
  /** Steps the wall clock without letting any time pass, as an operator or NTP does. */
  step(ms: Milliseconds): void
}

/** A {@link ManualClock} that stands at `now`. */
export function createManualClock(now: EpochMs): ManualClock {
  return new StoppedClock(now)
}

class StoppedClock implements ManualClock {
  #now: EpochMs
  #elapsed: Milliseconds = 0
  #waits: { readonly due: Milliseconds; readonly resolve: () => void }[] = []

  constructor(now: EpochMs) {
    this.#now = now
  }

  get waiting(): number {
    return this.#waits.length
  }

  now(): EpochMs {
    return this.#now
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

  async advance(ms: Milliseconds): Promise<void> {
    const until = this.#elapsed + ms
    for (let next = this.#nextBefore(until); next !== undefined; next = this.#nextBefore(until)) {
      this.#pass(next.due - this.#elapsed)
      next.resolve()
      await settled()
    }
    this.#pass(until - this.#elapsed)
    await settled()
  }

  step(ms: Milliseconds): void {
    this.#now += ms
  }

  #nextBefore(until: Milliseconds) {
    return this.#waits.filter(wait => wait.due <= until).sort((a, b) => a.due - b.due)[0]
  }

  #pass(ms: Milliseconds): void {
    this.#elapsed += ms
    this.#now += ms
  }
}

/**
 * Lets every promise that can settle do so, however long the chain: asked for from a promise, Node's next
 * tick comes when the queue of promises is empty.
 * @see https://nodejs.org/api/process.html#processnexttickcallback-args
 */
async function settled(): Promise<void> {
  await undefined
  return new Promise(resolve => process.nextTick(resolve))
}
