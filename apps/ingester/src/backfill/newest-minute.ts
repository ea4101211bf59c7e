import type { Coin, Context, Milliseconds } from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlockCache } from './candle-block-cache.ts'
import { COINS_AT_ONCE, type Decided, decideWindow, NOTHING } from './decide-minutes.ts'

/**
 * Decides the newest minute of coins that are new or not tested yet, to be written together. A coin without an
 * answer after `patienceMs` is left out.
 * @param holdsLease asked before each round of coins: an ingester that loses the lease leaves the rest to another
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
  const decide = async (coin: Coin): Promise<Decided> => {
    const [open] = await reader.readOpenMinutes(coin.symbol, minute, minute + 1)
    if (open === undefined) return NOTHING
    // A failure is reported when the coin is filled.
    return decideWindow({ coin, minutes: [minute] }, blocks).catch(() => NOTHING)
  }
  const decided: Decided[] = []
  for (let at = 0; at < coins.length && holdsLease(); at += COINS_AT_ONCE) {
    const some = coins.slice(at, at + COINS_AT_ONCE)
    const late = clock.wait(patienceMs, signal).then(() => NOTHING)
    decided.push(...(await Promise.all(some.map(coin => Promise.race([decide(coin), late])))))
  }
  const samples = decided.flatMap(each => each.samples)
  return { samples, settled: decided.flatMap(each => each.settled), open: [] }
}
