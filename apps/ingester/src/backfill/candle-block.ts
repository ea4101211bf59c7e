import { type EpochMinute, MAX_CARRY_MS, MINUTE_MS } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'

/** A price is carried over so many minutes at most. */
export const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS

/** A candle may come late. One that is still absent this many minutes after its end will not come. */
const BELIEVED_AFTER_MINUTES = 3

/**
 * The candles of one market that decide the minutes of one block: for each minute M the one that opens at
 * M − 60 s, and earlier ones whose price is carried into the block.
 *
 * Upbit writes no candle for a minute without a trade. Binance writes one for every minute: one that is absent
 * is no silence, and no price is carried over it.
 */
export class CandleBlock {
  /** Candles with a trade, ascending. */
  readonly #trades: readonly MinuteCandle[]
  readonly #newest: EpochMinute
  readonly #askedAt: EpochMinute
  readonly #absent: ReadonlyMap<EpochMinute, boolean>

  /**
   * @param candles ascending, each minute at most once
   * @param askedAt the newest minute whose candles were complete when they were fetched; `-Infinity` for an
   *   answer that is not believed yet
   * @param absent minutes of Binance without a candle, and whether that is believed
   */
  constructor(
    candles: readonly MinuteCandle[],
    askedAt: EpochMinute,
    absent: ReadonlyMap<EpochMinute, boolean> = new Map(),
  ) {
    this.#trades = candles.filter(([, , volume]) => volume > 0)
    this.#newest = candles.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.#askedAt = askedAt
    this.#absent = absent
  }

  /** Whether the answer lacks something that another one may have. */
  get isDoubted(): boolean {
    return this.#askedAt === Number.NEGATIVE_INFINITY || [...this.#absent.values()].includes(false)
  }

  /** Whether it surely holds no trade. Upbit's market has no earlier one either then. */
  get isEmpty(): boolean {
    return this.#trades.length === 0 && !this.isDoubted
  }

  /** The minute at which its newest candle opens. */
  get newest(): EpochMinute {
    return this.#newest
  }

  /** Whether the candle before `minute`, or a later one, is there. */
  reaches(minute: EpochMinute): boolean {
    return this.#newest >= minute - 1
  }

  /** Whether everything that decides `minute` is there, or so late that it will not come. */
  knows(minute: EpochMinute): boolean {
    const isThere = this.reaches(minute) || this.#askedAt >= minute + BELIEVED_AFTER_MINUTES
    return isThere && this.#absentSinceTrade(minute).every(open => this.#absent.get(open))
  }

  /** Whether Binance has no candle of the 60 s before `minute`. */
  lacks(minute: EpochMinute): boolean {
    return this.#absent.has(minute - 1)
  }

  /** Whether there was a trade in the 60 s before `minute`. */
  traded(minute: EpochMinute): boolean {
    return this.lastTrade(minute)?.[0] === minute - 1
  }

  /** Whether there was a trade at or after `minute`. */
  tradedSince(minute: EpochMinute): boolean {
    return (this.#trades.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY) >= minute
  }

  /** The newest candle with a trade that opens before `minute`, unless one after it is absent. */
  lastTrade(minute: EpochMinute): MinuteCandle | undefined {
    return this.#absentSinceTrade(minute).length > 0 ? undefined : this.#newestTrade(minute)
  }

  /** Absent minutes between the last trade before `minute`, or the oldest that may be carried, and `minute`. */
  #absentSinceTrade(minute: EpochMinute): readonly EpochMinute[] {
    if (this.#absent.size === 0) return []
    const from = Math.max(this.#newestTrade(minute)?.[0] ?? 0, minute - CARRY_MINUTES)
    return Array.from({ length: minute - from }, (_, back) => minute - 1 - back).filter(open =>
      this.#absent.has(open),
    )
  }

  #newestTrade(minute: EpochMinute): MinuteCandle | undefined {
    let low = 0
    let high = this.#trades.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#trades[middle] as MinuteCandle)[0] < minute) low = middle + 1
      else high = middle
    }
    return this.#trades[low - 1]
  }
}
