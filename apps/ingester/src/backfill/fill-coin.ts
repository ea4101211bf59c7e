import { type Clock, type EpochMinute, type Gap, type GapReason, minuteOf, type Sample } from '@kimchi/core'
import type { SampleWriter } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import type { CoinTracking } from '../coins/track-coins.ts'
import type { CandleBook } from './candle-book.ts'
import type { CoinWork } from './coin-work.ts'
import { type Decided, decideMinutes, isDownThroughout } from './decide-minutes.ts'

/**
 * An exchange's candles may come late: a minute that is no older than this is not settled as an outage yet.
 */
const DOUBTFUL_MINUTES = 10
const OUTAGES: readonly GapReason[] = ['upbit-down', 'binance-down', 'no-rate']

/** What filling a coin works with. */
export interface FillOptions {
  readonly quarantine: Pick<Quarantine, 'tracked' | 'check'>
  readonly tracking: Pick<CoinTracking, 'apply'>
  readonly writer: Pick<SampleWriter, 'write'>
  readonly book: CandleBook
  readonly clock: Clock
}

/** What became of some minutes of a coin. */
export interface Filled {
  readonly samples: number
  readonly gaps: number
  /** Samples that Redis did not take: their day has expired or is frozen. */
  readonly refused: number
}

/** Fills minutes of one coin, in steps so that their caller can tell whose trouble a failure is. */
export interface CoinFiller {
  /**
   * Decides the minutes from candles. Undefined while the exchanges seem to be down: they are asked again
   * later.
   */
  decide(work: CoinWork, minutes: readonly EpochMinute[]): Promise<Decided | undefined>
  /** Stores what was decided, and settles what can't be filled. */
  store(work: CoinWork, decided: Decided): Promise<Filled>
}

/** A {@link CoinFiller}. */
export function createCoinFiller(options: FillOptions): CoinFiller {
  const { quarantine, tracking, writer, book, clock } = options
  /** The first samples of coins that nothing is known of yet; they are compared with each other. */
  const first = new Map<string, Sample>()

  const isDoubtful = (minute: EpochMinute) => minuteOf(clock.now()) - minute <= DOUBTFUL_MINUTES
  const isTracked = (symbol: string) => quarantine.tracked.some(coin => coin.symbol === symbol)

  const publishable = (samples: readonly Sample[]): readonly Sample[] => {
    const untested = samples.filter(({ symbol }) => !isTracked(symbol))
    if (untested.length === 0) return samples
    for (const sample of untested) first.set(sample.symbol, sample)
    const passed = quarantine.check(untested[0]?.minute ?? 0, [...first.values()])
    // Before the write: the row of a coin that is released now needs its name.
    tracking.apply()
    for (const { symbol } of passed) first.delete(symbol)
    return passed
  }
  const settleGaps = (work: CoinWork, gaps: readonly Gap[]) => {
    const doubtful = gaps.filter(({ minute, reason }) => isDoubtful(minute) && OUTAGES.includes(reason))
    work.defer(
      doubtful.map(({ minute }) => minute),
      clock.now(),
    )
    work.settle(gaps.filter(gap => !doubtful.includes(gap)).map(({ minute }) => minute))
    return gaps.length - doubtful.length
  }
  return {
    decide: async (work, minutes) => {
      if (minutes.every(isDoubtful) && (await isDownThroughout(minutes, book))) {
        work.defer(minutes, clock.now())
        return undefined
      }
      const oldest = work.holes[0]?.start ?? minutes[0] ?? 0
      const decided = await decideMinutes(work.coin, minutes, oldest, book)
      const done = work.holes.length === 0 ? Number.NEGATIVE_INFINITY : (minutes[0] ?? 0) - 1
      for (const market of [work.coin.upbit, work.coin.binance]) book.leave(market, done)
      return decided
    },
    store: async (work, { samples, gaps }) => {
      const settled = settleGaps(work, gaps)
      const taken = publishable(samples)
      if (taken.length === 0) return { samples: 0, gaps: settled, refused: 0 }
      const minute = Math.max(...taken.map(sample => sample.minute))
      const result = await writer.write({ minute, samples: taken })
      // What Redis will never take must not be fetched again.
      work.settle(result.refused.map(refused => refused.minute))
      return {
        samples: result.stored + result.duplicates,
        gaps: settled,
        refused: result.refused.length,
      }
    },
  }
}
