import type { Context, Market, Tick } from '@kimchi/core'
import { retryDelay } from './backoff.ts'

/** Fetches the present price of the markets, as ticks of origin `seed`. Rejects on any failure, and when aborted. */
export type Seed = (markets: readonly Market[], signal: AbortSignal) => Promise<readonly Tick[]>

/** What the seeding of one connection is opened with. */
export interface SeedingOptions {
  readonly seed: Seed
  readonly onTicks: (ticks: readonly Tick[]) => void
  readonly onFailure: (cause: unknown) => void
}

/**
 * The seeding of one connection: each market asked for is fetched once, together with others that wait; failures are
 * retried with backoff until `signal` aborts, with the connection.
 * @returns the function that asks for more markets
 */
export function openSeeding(
  options: SeedingOptions,
  context: Pick<Context, 'clock' | 'random' | 'signal'>,
): (markets: readonly Market[]) => void {
  const waiting = new Set<Market>()
  let running = false
  return markets => {
    for (const market of markets) waiting.add(market)
    if (running || waiting.size === 0) return
    running = true
    void seedAll(waiting, options, context).finally(() => {
      running = false
    })
  }
}

async function seedAll(
  waiting: Set<Market>,
  { seed, onTicks, onFailure }: SeedingOptions,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): Promise<void> {
  for (let failures = 0; waiting.size > 0 && !signal.aborted; ) {
    const markets = [...waiting]
    try {
      const ticks = await seed(markets, signal)
      if (signal.aborted) return
      for (const market of markets) waiting.delete(market)
      failures = 0
      onTicks(ticks)
    } catch (error) {
      if (signal.aborted) return
      onFailure(error)
      await clock.wait(retryDelay(failures, random, error), signal)
      failures += 1
    }
  }
}
