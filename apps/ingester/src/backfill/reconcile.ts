import {
  type Clock,
  type Coin,
  type EpochMinute,
  type EpochMs,
  HOUR_MS,
  type Milliseconds,
  minuteOf,
  type PremiumE4,
} from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { CandleBlocks } from './candle-blocks.ts'
import { decideWindow, NOTHING } from './decide-minutes.ts'

/** A few coins now and then: a gauge must not cost more than the work that it watches. */
const EVERY_MS: Milliseconds = HOUR_MS
const COINS_AT_A_TIME = 4
const MINUTES = 10

/** Newer minutes may not be stored, or their candles not be complete, yet. */
const NEWEST_AGE_MS: Milliseconds = 300_000

/** How far live samples are from what candles say about the same minutes. */
export interface Drift {
  /** Minutes that have both. */
  readonly compared: number
  /** Half of the differences are smaller than this. */
  readonly medianE4: PremiumE4
  /** The largest difference, and where it is. */
  readonly worst: Difference
}

/** The distance of one live sample from its candle sample. */
export interface Difference {
  readonly symbol: string
  readonly minute: EpochMinute
  readonly e4: PremiumE4
}

/** What the reconciler works with. */
export interface ReconcilerOptions {
  readonly reader: Pick<SampleReader, 'readSamples'>
  readonly blocks: CandleBlocks
  readonly clock: Clock
}

/**
 * Compares stored live samples with candles of the same minutes, a few coins at a time. Changes nothing: a
 * live sample is never replaced. Binance's ticker comes once a second, so a trade in the last second of a
 * minute is in the candle but not in the live sample.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions
  #drift: Drift | undefined
  #ranAt: EpochMs = Number.NEGATIVE_INFINITY
  #next = 0

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Of the last comparison; undefined when it found nothing to compare. */
  get drift(): Drift | undefined {
    return this.#drift
  }

  get isDue(): boolean {
    return this.#options.clock.now() - this.#ranAt >= EVERY_MS
  }

  /** Compares the next coins in turn. */
  async run(coins: readonly Coin[]): Promise<void> {
    const { clock } = this.#options
    this.#ranAt = clock.now()
    const end = minuteOf(clock.now() - NEWEST_AGE_MS) + 1
    const differences: Difference[] = []
    for (let at = 0; at < Math.min(COINS_AT_A_TIME, coins.length); at++) {
      const coin = coins[this.#next++ % coins.length] as Coin
      differences.push(...(await this.#compare(coin, end)))
    }
    this.#drift = driftOf(differences)
  }

  async #compare(coin: Coin, end: EpochMinute): Promise<Difference[]> {
    const { reader, blocks } = this.#options
    const { entries } = await reader.readSamples(coin.symbol, end - MINUTES, end)
    const live = new Map(
      entries.filter(({ source }) => source === 'live').map(sample => [sample.minute, sample.premiumE4]),
    )
    // A coin whose candles can't be fetched is the backfill's trouble; here it is only left out.
    const { samples } = await decideWindow({ coin, minutes: [...live.keys()] }, blocks).catch(() => NOTHING)
    return samples.map(({ symbol, minute, premiumE4 }) => {
      return { symbol, minute, e4: Math.abs(premiumE4 - (live.get(minute) ?? premiumE4)) }
    })
  }
}

/** Undefined rather than zero where nothing was compared: no drift is known then. */
function driftOf(differences: readonly Difference[]): Drift | undefined {
  const sorted = differences.toSorted((a, b) => a.e4 - b.e4)
  const [median, worst] = [sorted[sorted.length >> 1], sorted.at(-1)]
  return median && worst && { compared: sorted.length, medianE4: median.e4, worst }
}
