import type { Context, Market } from '@kimchi/core'
import type { Protocol } from './protocol.ts'

/**
 * The subscription of one open connection: sends what turns it into the markets wanted last. Changes that come faster than
 * the exchange's message limit allows are joined into one. Ends with `signal`.
 * @returns the function that changes the markets wanted
 */
export function openSubscription(
  protocol: Protocol,
  send: (message: string) => void,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): (markets: readonly Market[]) => void {
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
