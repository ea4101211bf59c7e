import {
  type Coin,
  type EpochMinute,
  type EpochMs,
  HOUR_MS,
  type Milliseconds,
  minuteOf,
  type PremiumE4,
} from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlockCache } from './candle-block-cache.ts'
import { decideWindow } from './decide-minutes.ts'

/** Few coins and minutes, because a gauge must not cost more than the work that it watches. */
const COINS_AT_A_TIME = 4
const MINUTES = 10

/** Newer minutes may not be stored yet, or their candles may still change. */
const NEWEST_AGE_MS: Milliseconds = 300_000

/** How far live samples are from candle samples of the same minutes. */
export interface Drift {
  /** Minutes that have both. */
  readonly compared: number
  /** Half of the differences are smaller than this. */
  readonly medianE4: PremiumE4
  /** The largest difference, and where it is. */
  readonly worst: { readonly symbol: string; readonly minute: EpochMinute; readonly e4: PremiumE4 }
}

/**
 * Compares stored live samples with candles of the same minutes: a few coins, each hour the next ones. Changes
 * nothing: a live sample is never replaced. Binance's ticker comes once a second, so a trade in the last second
 * of a minute is in the candle but not in the live sample.
 * @returns undefined when there is nothing to compare
 */
export async function measureDrift(
  coins: readonly Coin[],
  now: EpochMs,
  reader: Pick<SampleReader, 'readSamples'>,
  blocks: CandleBlockCache,
): Promise<Drift | undefined> {
  const end = minuteOf(now - NEWEST_AGE_MS) + 1
  const turns = Math.ceil(coins.length / COINS_AT_A_TIME)
  const chosen = coins.filter((_, at) => at % turns === Math.floor(now / HOUR_MS) % turns)
  const differences: Drift['worst'][] = []
  for (const coin of chosen) {
    const { entries } = await reader.readSamples(coin.symbol, end - MINUTES, end)
    const live = entries.filter(({ source }) => source === 'live')
    const minutes = live.map(({ minute }) => minute)
    // A failure to fetch candles is reported when the coin is filled.
    const decided = await decideWindow({ coin, minutes }, blocks).catch(() => undefined)
    for (const { symbol, minute, premiumE4 } of decided?.samples ?? []) {
      const liveE4 = live.find(sample => sample.minute === minute)?.premiumE4 ?? premiumE4
      differences.push({ symbol, minute, e4: Math.abs(premiumE4 - liveE4) })
    }
  }
  differences.sort((a, b) => a.e4 - b.e4)
  const [median, worst] = [differences[differences.length >> 1], differences.at(-1)]
  return median && worst && { compared: differences.length, medianE4: median.e4, worst }
}
