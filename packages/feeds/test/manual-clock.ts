import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@kimchi/core'

interface Waiter {
  readonly dueAt: number
  readonly resolve: () => void
}

/** A clock that stands still until it is told to move. Wall time and elapsed time are one. */
export class ManualClock implements Clock {
  #at: number
  readonly #waiters = new Set<Waiter>()

  constructor(at = Date.UTC(2026, 10, 20, 12)) {
    this.#at = at
  }

  now(): number {
    return this.#at
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        this.#waiters.delete(waiter)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const waiter = { dueAt: this.#at + ms, resolve: done }
      if (signal?.aborted) return resolve()
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', done)
    })
  }

  /** How many waits are under way. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Moves time on, stopping at every wait that becomes due so that what follows it happens at its own time. */
  async advance(ms: number): Promise<void> {
    const target = this.#at + ms
    for (;;) {
      const next = [...this.#waiters].sort((a, b) => a.dueAt - b.dueAt)[0]
      if (next === undefined || next.dueAt > target) break
      this.#at = Math.max(this.#at, next.dueAt)
      next.resolve()
      await setImmediate()
    }
    this.#at = target
    await setImmediate()
  }
}
