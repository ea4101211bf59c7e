import type { Coin, Context, Milliseconds } from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlocks } from './candle-blocks.ts'
import { type Decided, decideWindow, NOTHING } from './decide-minutes.ts'

/**
 * Coins that are decided at once: enough to keep both exchanges busy, few enough that a request that all coins
 * need does not wait long behind theirs.
 */
export const COINS_AT_ONCE = 16

/**
 * Decides the newest minute of these coins, to be written together. One whose candle doesn't come within
 * `patienceMs` holds up nobody.
 * @param goesOn whether this ingester still fills coins; asked before each of them
 */
export async function decideFirstList(
  coins: readonly Coin[],
  patienceMs: Milliseconds,
  goesOn: () => boolean,
  reader: Pick<SampleReader, 'readOpenMinutes'>,
  blocks: CandleBlocks,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<Decided> {
  const minute = await blocks.newest()
  const decided: Decided[] = []
  let isOver = false
  const rest = coins.entries()
  const decideSome = async () => {
    for (const [at, coin] of rest) {
      if (isOver || !goesOn()) return
      const [open] = await reader.readOpenMinutes(coin.symbol, minute, minute + 1)
      if (open === undefined) continue
      // A failure is reported when the coin is filled.
      decided[at] = await decideWindow({ coin, minutes: [minute] }, blocks).catch(() => NOTHING)
    }
  }
  const all = Promise.all(Array.from({ length: COINS_AT_ONCE }, decideSome))
  await Promise.race([all, clock.wait(patienceMs, signal)]).finally(() => {
    isOver = true
  })
  // A coin that was not reached has left no entry.
  const samples = decided.flatMap(each => each.samples)
  return { samples, settled: decided.flatMap(each => each.settled), open: [] }
}
