import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * Runs a refresh when asked, never two at a time: whatever is asked while one runs becomes one more run after it.
 * Open from the start; {@link Refresher.close} ends it.
 */
export class Refresher {
  readonly #refresh: () => Promise<void>
  readonly #clock: Clock
  readonly #closed = new AbortController()
  #running: Promise<void> | undefined
  #again = false
  #soon = false

  /** @param refresh must not reject */
  constructor(refresh: () => Promise<void>, clock: Clock) {
    this.#refresh = refresh
    this.#clock = clock
  }

  /** The run under way, if any. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Starts a run, or one more after the run under way. Resolves when nothing is left to do. */
  now(): Promise<void> {
    this.#again = true
    this.#running ??= this.#loop()
    return this.#running
  }

  /** Like {@link Refresher.now} after `ms`; asked many times within it, it runs once. */
  async soon(ms: Milliseconds): Promise<void> {
    if (this.#soon) return
    this.#soon = true
    await this.#clock.wait(ms, this.#closed.signal)
    this.#soon = false
    await this.now()
  }

  /** Starts nothing any more; a run under way may hang on a Redis that does not answer, so nobody waits for it. */
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
