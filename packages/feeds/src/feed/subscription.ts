import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/** The subscription on one connection, changed as fast as the exchange's message limit allows. */
export class Subscription {
  readonly #protocol: Protocol
  readonly #send: (message: string) => void
  readonly #context: Pick<Context, 'clock' | 'random' | 'signal'>
  #wanted: readonly Market[]
  #sent: readonly Market[] = []
  /** Whether it waits: for the socket to open, or after a message. */
  #isWaiting = true

  /** @param context its signal aborts when the connection has ended */
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

  /** Sends it, when the socket is open. */
  start(): void {
    this.#isWaiting = false
    void this.#sendChanges()
  }

  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    void this.#sendChanges()
  }

  /** Sends it again, for its snapshots. */
  renew(): void {
    this.#sent = []
    void this.#sendChanges()
  }

  /** Changes that come faster than the limit allows are joined into one. */
  async #sendChanges(): Promise<void> {
    const { clock, random, signal } = this.#context
    if (this.#isWaiting) return
    this.#isWaiting = true
    while (this.#wanted !== this.#sent && !signal.aborted) {
      const id = Math.floor(random() * 2 ** 40)
      const messages = this.#protocol.subscribe(this.#sent, this.#wanted, id)
      for (const message of messages) this.#send(message)
      this.#sent = this.#wanted
      await clock.wait(this.#protocol.sendSpacingMs, signal)
    }
    this.#isWaiting = false
  }
}
