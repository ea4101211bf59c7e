import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * Runs a refresh when asked, never two at a time: whatever is asked while one runs becomes one more run
 * after it.
 */
export interface Refresher {
  /** The run under way, if any. */
  readonly running: Promise<void> | undefined
  /** Starts a run, or one more after the run under way. Resolves when nothing is left to do. */
  now(): Promise<void>
  /** Like {@link Refresher.now} after `ms`; asked many times within it, it runs once. */
  soon(ms: Milliseconds): Promise<void>
  /**
   * Starts nothing more. A run under way may hang on a Redis that does not answer, so it is not waited for.
   */
  close(): void
}

/** A {@link Refresher}. @param refresh must not reject */
export function openRefresher(refresh: () => Promise<void>, clock: Clock): Refresher {
  return new OneAtATime(refresh, clock)
}

class OneAtATime implements Refresher {
  readonly #refresh: () => Promise<void>
  readonly #clock: Clock
  readonly #closed = new AbortController()
  #running: Promise<void> | undefined
  #again = false
  #soon = false

  constructor(refresh: () => Promise<void>, clock: Clock) {
    this.#refresh = refresh
    this.#clock = clock
  }

  get running(): Promise<void> | undefined {
    return this.#running
  }

  now(): Promise<void> {
    this.#again = true
    this.#running ??= this.#loop()
    return this.#running
  }

  async soon(ms: Milliseconds): Promise<void> {
    if (this.#soon) return
    this.#soon = true
    await this.#clock.wait(ms, this.#closed.signal)
    this.#soon = false
    await this.now()
  }

  close(): void {
    this.#closed.abort()
  }

  async #loop(): Promise<void> {
    while (this.#again && !this.#closed.signal.aborted) {
      this.#again = false
      await this.#refresh()
    }
    this.#running = undefined
  }
}
