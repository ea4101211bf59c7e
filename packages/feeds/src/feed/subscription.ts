import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/** The subscription of one open connection. */
export interface Subscription {
  /** Subscribes to a list of markets. */
  set(markets: readonly Market[]): void
  /** Sends the whole list again, for its snapshots. */
  renew(): void
  /** Notes an acknowledgement; returns the markets of which every trade is followed by a frame from now on. */
  acknowledge(id: unknown): readonly Market[]
}

/**
 * Creates the subscription of an open connection. Changes that come faster than the exchange's message limit
 * allows are joined into one. Ends with `signal`.
 */
export function createSubscription(
  protocol: Protocol,
  send: (message: string) => void,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): Subscription {
  const unacknowledged = new Map<unknown, readonly Market[]>()
  let wanted: readonly Market[] = []
  let subscribed: readonly Market[] = []
  let isSending = false
  const update = async () => {
    if (isSending) return
    isSending = true
    while (wanted !== subscribed && !signal.aborted) {
      const firstId = Math.floor(random() * 2 ** 40)
      for (const { text, acknowledged } of protocol.subscribe(subscribed, wanted, firstId)) {
        if (acknowledged !== undefined) unacknowledged.set(acknowledged.id, acknowledged.markets)
        send(text)
      }
      subscribed = wanted
      await clock.wait(protocol.sendSpacingMs, signal)
    }
    isSending = false
  }
  return {
    set: markets => {
      wanted = markets
      void update()
    },
    renew: () => {
      subscribed = []
      void update()
    },
    acknowledge: id => {
      const markets = unacknowledged.get(id) ?? []
      unacknowledged.delete(id)
      return markets
    },
  }
}
