import type { Coin, EpochMinute, PremiumE4 } from '@kimchi/core'
import type { MinuteRange, SampleReader } from '@kimchi/store'
import { CandleCache, type FetchCandles } from './candle-cache.ts'
import { fillWindow } from './fill-window.ts'

/** How far live samples are from what candles say about the same minutes. */
export interface Drift {
  /** Minutes that have both. */
  readonly compared: number
  /** Half of the differences are smaller than this. */
  readonly medianE4: PremiumE4
  /** The largest difference, and where it is; undefined when nothing was compared. */
  readonly worst: Difference | undefined
}

/** The distance of one live sample from its candle sample. */
export interface Difference {
  readonly symbol: string
  readonly minute: EpochMinute
  readonly e4: PremiumE4
}

/** What the reconciler works with. */
export interface ReconcileOptions {
  readonly coins: readonly Coin[]
  readonly range: MinuteRange
  readonly reader: Pick<SampleReader, 'readSamples'>
  readonly fetchCandles: FetchCandles
  readonly mayGoOn: () => Promise<boolean>
}

/**
 * Compares stored live samples with candles of the same minutes. Changes nothing: a live sample is never replaced.
 * Binance's ticker comes once a second, so a trade in the last second of a minute is in the candle but not in the live sample.
 */
export async function reconcile({
  coins,
  range,
  reader,
  fetchCandles,
  mayGoOn,
}: ReconcileOptions): Promise<Drift> {
  const cache = new CandleCache(fetchCandles)
  const differences: Difference[] = []
  for (const coin of coins) {
    const { entries } = await reader.readSamples(coin.symbol, range.start, range.end)
    const live = new Map(
      entries.filter(({ source }) => source === 'live').map(sample => [sample.minute, sample]),
    )
    if (live.size === 0) continue
    if (!(await mayGoOn())) break
    const { samples } = await fillWindow(coin, [...live.keys()], range, cache)
    for (const { symbol, minute, premiumE4 } of samples) {
      const distance = Math.abs(premiumE4 - (live.get(minute)?.premiumE4 ?? premiumE4))
      differences.push({ symbol, minute, e4: distance })
    }
  }
  differences.sort((a, b) => a.e4 - b.e4)
  return {
    compared: differences.length,
    medianE4: differences[differences.length >> 1]?.e4 ?? 0,
    worst: differences.at(-1),
  }
}
