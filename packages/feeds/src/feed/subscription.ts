import type { Clock, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/** What the subscription of one open connection needs. */
export interface SubscriptionOptions {
  readonly protocol: Protocol
  readonly clock: Clock
  readonly random: () => number
  /** Ends it, with the connection. */
  readonly signal: AbortSignal
  readonly send: (message: string) => void
}

/**
 * The subscription of one open connection: sends what turns it into the markets wanted last. Changes that come faster than
 * the exchange's message limit allows are joined into one.
 * @returns the function that changes the markets wanted
 */
export function openSubscription(options: SubscriptionOptions): (markets: readonly Market[]) => void {
  const { protocol, clock, random, signal, send } = options
  let wanted: readonly Market[] = []
  let subscribed: readonly Market[] = []
  let running = false

  const run = async (): Promise<void> => {
    while (wanted !== subscribed && !signal.aborted) {
      const next = wanted
      const id = Math.floor(random() * 2 ** 40)
      for (const message of protocol.subscribe(subscribed, next, id)) send(message)
      subscribed = next
      await clock.wait(protocol.sendSpacingMs, signal)
    }
    running = false
  }
  return markets => {
    wanted = markets
    if (running) return
    running = true
    void run()
  }
}
