import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/** Subscribes to a list of markets; `isRenewal` sends the whole list again, for its snapshots. */
export type Subscribe = (markets: readonly Market[], isRenewal?: boolean) => void

/**
 * The subscription of one open connection. Changes that come faster than the exchange's message limit allows
 * are joined into one. Ends with `signal`.
 */
export function createSubscription(
  protocol: Protocol,
  send: (message: string) => void,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): Subscribe {
  let wanted: readonly Market[] = []
  let subscribed: readonly Market[] = []
  let isSending = false
  const update = async () => {
    while (wanted !== subscribed && !signal.aborted) {
      const id = Math.floor(random() * 2 ** 40)
      for (const message of protocol.subscribe(subscribed, wanted, id)) send(message)
      subscribed = wanted
      await clock.wait(protocol.sendSpacingMs, signal)
    }
    isSending = false
  }
  return (markets, isRenewal = false) => {
    wanted = markets
    if (isRenewal) subscribed = []
    if (isSending) return
    isSending = true
    void update()
  }
}
