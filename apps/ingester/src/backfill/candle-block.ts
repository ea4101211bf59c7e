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
 * is no silence, and no price is carried over it. Nor is it over an empty page of either.
 */
export class CandleBlock {
  /** The minute at which its newest candle opens. */
  readonly newest: EpochMinute
  /** The minute at which its newest candle with a trade opens. */
  readonly newestTrade: EpochMinute
  /** Whether the answer lacks something that another one may have. */
  readonly isDoubted: boolean
  /** Candles with a trade, by the minute at which they open. */
  readonly #trades: ReadonlyMap<EpochMinute, MinuteCandle>
  readonly #completeTo: EpochMinute
  readonly #absent: ReadonlyMap<EpochMinute, boolean>

  /**
   * @param candles ascending, each minute at most once
   * @param completeTo the newest minute whose candles were complete when they were fetched
   * @param absent minutes that lack a candle, and whether that is believed
   */
  constructor(
    candles: readonly MinuteCandle[],
    completeTo: EpochMinute,
    absent: ReadonlyMap<EpochMinute, boolean> = new Map(),
  ) {
    const trades = candles.filter(([, , volume]) => volume > 0)
    this.newest = candles.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.isDoubted = [...absent.values()].includes(false)
    this.#trades = new Map(trades.map(candle => [candle[0], candle]))
    this.newestTrade = trades.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.#completeTo = completeTo
    this.#absent = absent
  }

  /** Whether it surely holds no trade. Upbit's market has no earlier one either then. */
  get isEmpty(): boolean {
    return this.#trades.size === 0 && !this.isDoubted
  }

  /** Whether the candle before `minute`, or a later one, is there. */
  reaches(minute: EpochMinute): boolean {
    return this.newest >= minute - 1
  }

  /** Whether everything that decides `minute` is there, or so late that it will not come. */
  knows(minute: EpochMinute): boolean {
    const isThere = this.reaches(minute) || this.#completeTo >= minute + BELIEVED_AFTER_MINUTES
    return isThere && this.#absent.get(this.#decisive(minute)) !== false
  }

  /** Whether there surely should be a candle of the 60 s before `minute`, and is none. */
  lacks(minute: EpochMinute): boolean {
    return this.#absent.has(minute - 1)
  }

  /** Whether there was a trade in the 60 s before `minute`. */
  traded(minute: EpochMinute): boolean {
    return this.#trades.has(minute - 1)
  }

  /** The last trade that opens before `minute` and may be carried to it, unless a candle after it is absent. */
  lastTrade(minute: EpochMinute): MinuteCandle | undefined {
    return this.#trades.get(this.#decisive(minute))
  }

  /** The newest minute before this one that has a trade or lacks a candle; if none, the oldest to carry from. */
  #decisive(minute: EpochMinute): EpochMinute {
    let open = minute - 1
    const oldest = minute - CARRY_MINUTES
    while (open > oldest && !this.#trades.has(open) && !this.#absent.has(open)) open -= 1
    return open
  }
}
