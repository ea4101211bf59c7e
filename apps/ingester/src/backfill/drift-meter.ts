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
  readonly worst: { readonly symbol: string; readonly minute: EpochMinute; readonly e4: PremiumE4 }
}

/**
 * Compares stored live samples with candles of the same minutes, a few coins at a time. Changes nothing: a
 * live sample is never replaced. Binance's ticker comes once a second, so a trade in the last second of a
 * minute is in the candle but not in the live sample.
 */
export class DriftMeter {
  readonly #reader: Pick<SampleReader, 'readSamples'>
  readonly #blocks: CandleBlocks
  readonly #clock: Clock
  #drift: Drift | undefined
  #ranAt: EpochMs = Number.NEGATIVE_INFINITY
  #next = 0

  constructor(reader: Pick<SampleReader, 'readSamples'>, blocks: CandleBlocks, clock: Clock) {
    this.#reader = reader
    this.#blocks = blocks
    this.#clock = clock
  }

  /** Of the last comparison; undefined when it found nothing to compare. */
  get drift(): Drift | undefined {
    return this.#drift
  }

  get isDue(): boolean {
    return this.#clock.now() - this.#ranAt >= EVERY_MS
  }

  /** Compares the next coins in turn. */
  async run(coins: readonly Coin[]): Promise<void> {
    this.#ranAt = this.#clock.now()
    const differences: Drift['worst'][] = []
    for (let at = 0; at < Math.min(COINS_AT_A_TIME, coins.length); at++) {
      differences.push(...(await this.#compare(coins[this.#next++ % coins.length] as Coin)))
    }
    differences.sort((a, b) => a.e4 - b.e4)
    const [median, worst] = [differences[differences.length >> 1], differences.at(-1)]
    this.#drift = median && worst && { compared: differences.length, medianE4: median.e4, worst }
  }

  async #compare(coin: Coin): Promise<Drift['worst'][]> {
    const end = minuteOf(this.#clock.now() - NEWEST_AGE_MS) + 1
    const { entries } = await this.#reader.readSamples(coin.symbol, end - MINUTES, end)
    const live = entries.filter(({ source }) => source === 'live')
    const premiums = new Map(live.map(({ minute, premiumE4 }) => [minute, premiumE4]))
    // A failure to fetch candles is reported when the coin is filled.
    const decided = await decideWindow({ coin, minutes: [...premiums.keys()] }, this.#blocks).catch(
      () => NOTHING,
    )
    return decided.samples.map(({ symbol, minute, premiumE4 }) => {
      return { symbol, minute, e4: Math.abs(premiumE4 - (premiums.get(minute) ?? premiumE4)) }
    })
  }
}
