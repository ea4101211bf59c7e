import type { Context, Milliseconds } from '@kimchi/core'

/** A feed opens at most so many connections … */
const CONNECTIONS = 20

/**
 * … in this time. Binance allows 300 to an address, docs/exchanges.md#binance-websocket, for all feeds behind
 * it.
 */
const WINDOW_MS: Milliseconds = 300_000

/**
 * The connections that a feed may still open, whatever the exchange does.
 * @returns spends one, after waiting for it when there is none; at once when `signal` aborts
 */
export function createConnectionBudget({
  clock,
  signal,
}: Pick<Context, 'clock' | 'signal'>): () => Promise<void> {
  const spent: Promise<void>[] = []
  return async () => {
    if (spent.length >= CONNECTIONS) await spent.shift()
    spent.push(clock.wait(WINDOW_MS, signal))
  }
}
