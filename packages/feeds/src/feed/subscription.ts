import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/**
 * What one connection is subscribed to. Changes that come faster than the exchange's message limit allows are
 * joined into one. Ends with the context's signal.
 */
export class Subscription {
  readonly #protocol: Protocol
  readonly #send: (message: string) => void
  readonly #context: Pick<Context, 'clock' | 'random' | 'signal'>
  #wanted: readonly Market[]
  #subscribed: readonly Market[] = []
  /** False until the socket is open, and while messages are going out. */
  #maySend = false

  constructor(
    protocol: Protocol,
    markets: readonly Market[],
    send: (message: string) => void,
    context: Pick<Context, 'clock' | 'random' | 'signal'>,
  ) {
    this.#protocol = protocol
    this.#wanted = markets
    this.#send = send
    this.#context = context
  }

  /** Subscribes now that the socket is open. */
  open(): void {
    this.#maySend = true
    void this.#update()
  }

  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    void this.#update()
  }

  /** Sends the whole subscription again, for its snapshots. */
  renew(): void {
    this.#subscribed = []
    void this.#update()
  }

  async #update(): Promise<void> {
    if (!this.#maySend) return
    this.#maySend = false
    const { clock, random, signal } = this.#context
    while (this.#wanted !== this.#subscribed && !signal.aborted) {
      const id = Math.floor(random() * 2 ** 40)
      for (const message of this.#protocol.subscribe(this.#subscribed, this.#wanted, id)) this.#send(message)
      this.#subscribed = this.#wanted
      await clock.wait(this.#protocol.sendSpacingMs, signal)
    }
    this.#maySend = true
  }
}
