import type { Coin, Context, Milliseconds } from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlockCache } from './candle-block-cache.ts'
import { COINS_AT_ONCE, type Decided, decideWindow, NOTHING } from './decide-minutes.ts'

/**
 * Decides the newest minute of coins that are new or not tested yet, to be written together. A coin without an
 * answer after `patienceMs` is left out, and holds up no other.
 * @param holdsLease asked before each coin: an ingester that loses the lease leaves the rest to another
 */
export async function decideNewestMinute(
  coins: readonly Coin[],
  patienceMs: Milliseconds,
  holdsLease: () => boolean,
  reader: Pick<SampleReader, 'readOpenMinutes'>,
  blocks: CandleBlockCache,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<Decided> {
  const minute = await blocks.newest()
  const decided: Decided[] = []
  // Each worker takes its next coin from this one iterator.
  const queue = coins.entries()
  const decideSome = async () => {
    for (const [at, coin] of queue) {
      if (!holdsLease()) return
      const [open] = await reader.readOpenMinutes(coin.symbol, minute, minute + 1)
      if (open === undefined) continue
      // A failure is reported when the coin is filled.
      const deciding = decideWindow({ coin, minutes: [minute] }, blocks).catch(() => NOTHING)
      decided[at] = await Promise.race([deciding, clock.wait(patienceMs, signal).then(() => NOTHING)])
    }
  }
  await Promise.all(Array.from({ length: COINS_AT_ONCE }, decideSome))
  // `flatMap` skips the coins that were not reached.
  const samples = decided.flatMap(each => each.samples)
  return { samples, settled: decided.flatMap(each => each.settled), open: [] }
}
