import { type EpochMinute, MAX_CARRY_MS, MINUTE_MS } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'

/** A price is carried over at most this many minutes. */
export const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS

/** An exchange may publish a candle late, but not later than this many minutes after the candle's end. */
const MAX_LATE_MINUTES = 3

/**
 * Candles that should exist but are missing, by the minute at which they open. One is confirmed when a second
 * answer lacks it too. One that is unreadable may be in the answer, in a row that says nothing.
 */
export type MissingCandles = ReadonlyMap<EpochMinute, 'confirmed' | 'unconfirmed' | 'unreadable'>

/**
 * The candles of one market that decide the minutes of one block: for each minute M the one that opens at
 * M − 60 s, and earlier ones whose price is carried into the block.
 *
 * Upbit writes no candle for a minute without a trade, Binance writes one for every minute. A missing Binance
 * candle does not mean that nothing traded, so no price is carried across it, nor across an empty page or a row
 * that cannot be read of either exchange.
 */
export class CandleBlock {
  /** The minute at which its newest candle opens. */
  readonly newestCandle: EpochMinute
  /** The minute at which its newest candle with a trade opens. */
  readonly newestTrade: EpochMinute
  /** Whether a candle is missing that another answer may have. */
  readonly isUnconfirmed: boolean
  /** Whether a candle may be in a row that could not be read. */
  readonly isUnreadable: boolean
  /** Candles with a trade, by the minute at which they open. */
  readonly #trades: ReadonlyMap<EpochMinute, MinuteCandle>
  readonly #completeTo: EpochMinute
  readonly #missing: MissingCandles

  /**
   * @param candles ascending, each minute at most once
   * @param completeTo the newest minute whose candles were complete when they were fetched
   * @param missing the candles that should exist and are not in the answer
   */
  constructor(
    candles: readonly MinuteCandle[],
    completeTo: EpochMinute,
    missing: MissingCandles = new Map(),
  ) {
    const trades = candles.filter(([, , volume]) => volume > 0)
    this.newestCandle = candles.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    const states = new Set(missing.values())
    this.isUnconfirmed = states.has('unconfirmed')
    this.isUnreadable = states.has('unreadable')
    this.#trades = new Map(trades.map(candle => [candle[0], candle]))
    this.newestTrade = trades.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.#completeTo = completeTo
    this.#missing = missing
  }

  /** No trade, for sure. On Upbit this also means that the market has no older candles. */
  get isEmpty(): boolean {
    return this.#trades.size === 0 && !this.isUnconfirmed && !this.isUnreadable
  }

  /** Whether the answer has the candle of the 60 s before `minute`, or a later one. */
  reaches(minute: EpochMinute): boolean {
    return this.newestCandle >= minute - 1
  }

  /** Whether the block can decide `minute`: no candle may still come, or be there and not be known. */
  knows(minute: EpochMinute): boolean {
    const isComplete = this.reaches(minute) || this.#completeTo >= minute + MAX_LATE_MINUTES
    const state = this.#missing.get(this.#decidingOpen(minute)) ?? 'confirmed'
    return isComplete && state === 'confirmed'
  }

  /** Whether the candle of the 60 s before `minute` should exist but is missing. */
  lacks(minute: EpochMinute): boolean {
    const state = this.#missing.get(minute - 1) ?? 'unreadable'
    return state !== 'unreadable'
  }

  /** Whether there was a trade in the 60 s before `minute`. */
  traded(minute: EpochMinute): boolean {
    return this.#trades.has(minute - 1)
  }

  /** The last trade that opens before `minute` and may be carried to it, unless a candle after it is missing. */
  lastTrade(minute: EpochMinute): MinuteCandle | undefined {
    return this.#trades.get(this.#decidingOpen(minute))
  }

  /**
   * When the candle opens that decides `minute`: the newest one before it that has a trade or is missing. If
   * there is neither, the oldest from which a price may be carried.
   */
  #decidingOpen(minute: EpochMinute): EpochMinute {
    let open = minute - 1
    const oldest = minute - CARRY_MINUTES
    while (open > oldest && !this.#trades.has(open) && !this.#missing.has(open)) open -= 1
    return open
  }
}
