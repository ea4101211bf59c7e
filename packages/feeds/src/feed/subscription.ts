import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/** What a connection is subscribed to. */
export interface Subscription {
  setMarkets(markets: readonly Market[]): void
  /** Sends the whole subscription again, for its snapshots. */
  renew(): void
}

/**
 * The subscription of one open connection. What comes faster than the exchange's message limit allows is
 * joined into one. Ends with `signal`.
 */
export function openSubscription(
  protocol: Protocol,
  send: (message: string) => void,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): Subscription {
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
  const start = (): void => {
    if (running) return
    running = true
    void run()
  }
  return {
    setMarkets: markets => {
      wanted = markets
      start()
    },
    renew: () => {
      subscribed = []
      start()
    },
  }
}
