import type { Context, Milliseconds } from '@kimchi/core'

/**
 * How many connections a feed may open within the window. Binance allows 300 to an address,
 * docs/exchanges.md#binance-websocket, for all feeds behind it.
 */
const BUDGET = 20
const BUDGET_WINDOW_MS: Milliseconds = 300_000

/**
 * The connections that a feed may open, whatever the exchange does: 20 in 5 minutes.
 * @returns a function that spends one; it resolves when there is one to spend, or when `signal` aborts
 */
export function createConnectionBudget({
  clock,
  signal,
}: Pick<Context, 'clock' | 'signal'>): () => Promise<void> {
  /** When the last 20 were spent, by elapsed time. */
  const spent: Milliseconds[] = []
  return async () => {
    const first = spent.length < BUDGET ? undefined : spent.shift()
    if (first !== undefined) await clock.wait(first + BUDGET_WINDOW_MS - clock.elapsed(), signal)
    spent.push(clock.elapsed())
  }
}
