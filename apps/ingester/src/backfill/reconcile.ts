import {
  type Clock,
  type Coin,
  type EpochMinute,
  type EpochMs,
  type Milliseconds,
  minuteOf,
  type PremiumE4,
} from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import { createCandleBook, type FetchPage } from './candle-book.ts'
import { decideMinutes } from './decide-minutes.ts'

/** A few coins now and then: a gauge must not cost more requests than the work it watches. */
const EVERY_MS: Milliseconds = 180_000
const COINS_AT_A_TIME = 4
const MINUTES = 10

/** Newer minutes may not be stored, or their candles not be complete, yet. */
const NEWEST_AGE_MS: Milliseconds = 300_000

const NOTHING = { samples: [] }

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
  readonly fetchPage: FetchPage
  readonly clock: Clock
}

/**
 * Compares stored live samples with candles of the same minutes, a few coins at a time. Changes nothing: a
 * live sample is never replaced. Binance's ticker comes once a second, so a trade in the last second of a
 * minute is in the candle but not in the live sample.
 */
export interface Reconciler {
  /** Of the last comparison; undefined when it found nothing to compare. */
  readonly drift: Drift | undefined
  /** Compares the next coins in turn, when it is time to. */
  run(coins: readonly Coin[]): Promise<void>
}

/** A {@link Reconciler} that has compared nothing yet. */
export function createReconciler({ reader, fetchPage, clock }: ReconcilerOptions): Reconciler {
  let drift: Drift | undefined
  let ranAt: EpochMs = Number.NEGATIVE_INFINITY
  let next = 0
  return {
    get drift() {
      return drift
    },
    run: async coins => {
      if (clock.now() - ranAt < EVERY_MS || coins.length === 0) return
      ranAt = clock.now()
      const end = minuteOf(clock.now() - NEWEST_AGE_MS) + 1
      const chosen = Array.from({ length: Math.min(COINS_AT_A_TIME, coins.length) }, (_, index) => {
        return coins[(next + index) % coins.length] as Coin
      })
      next = (next + chosen.length) % coins.length
      const book = createCandleBook(fetchPage)
      const differences: Difference[] = []
      for (const coin of chosen) {
        const { entries } = await reader.readSamples(coin.symbol, end - MINUTES, end)
        const live = new Map(
          entries.filter(({ source }) => source === 'live').map(sample => [sample.minute, sample]),
        )
        const minutes = [...live.keys()]
        if (minutes.length === 0) continue
        // A coin whose candles can't be fetched is the backfill's trouble; here it is only left out.
        const { samples } = await decideMinutes(coin, minutes, minutes[0] ?? 0, book).catch(() => NOTHING)
        for (const { symbol, minute, premiumE4 } of samples) {
          const distance = Math.abs(premiumE4 - (live.get(minute)?.premiumE4 ?? premiumE4))
          differences.push({ symbol, minute, e4: distance })
        }
      }
      drift = driftOf(differences)
    },
  }
}

/** Undefined rather than zero where nothing was compared: no drift is known then. */
function driftOf(differences: readonly Difference[]): Drift | undefined {
  const sorted = differences.toSorted((a, b) => a.e4 - b.e4)
  const [median, worst] = [sorted[sorted.length >> 1], sorted.at(-1)]
  return median && worst && { compared: sorted.length, medianE4: median.e4, worst }
}
