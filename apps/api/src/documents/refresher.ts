import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * Runs a refresh when asked, never two at a time: whatever is asked while one runs becomes one more run
 * after it.
 */
export class Refresher {
  readonly #refresh: () => Promise<void>
  readonly #clock: Clock
  readonly #closed = new AbortController()
  #running: Promise<void> | undefined
  #isWanted = false
  #isDue = false

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
    this.#isWanted = true
    this.#running ??= this.#run()
    return this.#running
  }

  /** Like {@link Refresher.now} after `ms`; asked many times within it, it runs once. */
  async soon(ms: Milliseconds): Promise<void> {
    if (this.#isDue) return
    this.#isDue = true
    await this.#clock.wait(ms, this.#closed.signal)
    this.#isDue = false
    await this.now()
  }

  /**
   * Starts nothing more. A run under way may hang on a Redis that does not answer, so it is not waited for.
   */
  close(): void {
    this.#closed.abort()
  }

  async #run(): Promise<void> {
    while (this.#isWanted && !this.#closed.signal.aborted) {
      this.#isWanted = false
      await this.#refresh()
    }
    this.#running = undefined
  }
}
