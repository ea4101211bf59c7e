import type { Coin, Context, Milliseconds } from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlocks } from './candle-blocks.ts'
import { type Decided, decideWindow, NOTHING } from './decide-minutes.ts'

/**
 * Decides the newest minute of these coins, to be written together. One whose candle doesn't come within
 * `patienceMs` holds up nobody.
 */
export async function decideFirstList(
  coins: readonly Coin[],
  patienceMs: Milliseconds,
  reader: Pick<SampleReader, 'readOpenMinutes'>,
  blocks: CandleBlocks,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<Decided> {
  const minute = await blocks.newest()
  const late = clock.wait(patienceMs, signal).then(() => NOTHING)
  const decideCoin = async (coin: Coin): Promise<Decided> => {
    const [open] = await reader.readOpenMinutes(coin.symbol, minute, minute + 1)
    if (open === undefined) return NOTHING
    // A failure is reported when the coin is filled.
    return decideWindow({ coin, minutes: [minute] }, blocks).catch(() => NOTHING)
  }
  const decided = await Promise.all(coins.map(coin => Promise.race([decideCoin(coin), late])))
  const samples = decided.flatMap(each => each.samples)
  return { samples, settled: decided.flatMap(each => each.settled), open: [] }
}
