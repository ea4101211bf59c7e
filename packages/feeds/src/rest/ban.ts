import type { Clock, Milliseconds } from '@kimchi/core'
import { ABOUT_US } from '../bases.ts'
import { HttpError } from '../http-error.ts'

/** What an exchange has refused to one of its callers by REST, for as long as it holds for all of them. */
export class Ban {
  readonly #clock: Clock
  #refusal: HttpError | undefined
  /** An instant of the clock's elapsed time. */
  #until: Milliseconds = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Makes a request. @throws HttpError with what is left of the wait, instead of asking, while there is one */
  async respect<T>(ask: () => Promise<T>): Promise<T> {
    const leftMs = this.#until - this.#clock.elapsed()
    if (this.#refusal !== undefined && leftMs > 0) {
      const { code, message, status } = this.#refusal
      throw new HttpError(code, `not asked again: ${message}`, status, leftMs)
    }
    try {
      return await ask()
    } catch (error) {
      if (error instanceof HttpError && ABOUT_US.includes(error.status)) this.#begin(error)
      throw error
    }
  }

  #begin(refusal: HttpError): void {
    const until = this.#clock.elapsed() + (refusal.retryAfterMs ?? 0)
    if (until <= this.#until) return
    this.#refusal = refusal
    this.#until = until
  }
}
