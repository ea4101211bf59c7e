import { type EpochMinute, MAX_CARRY_MS, MINUTE_MS } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'

/** A price is carried over at most this many minutes. */
export const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS

/** An exchange may publish a candle late, but not later than this many minutes after the candle's end. */
const MAX_LATE_MINUTES = 3

/**
 * Candles that should exist but are missing, by the minute at which they open. One is confirmed when a second
 * answer lacks it too.
 */
export type MissingCandles = ReadonlyMap<EpochMinute, 'confirmed' | 'unconfirmed'>

/**
 * The candles of one market that decide the minutes of one block: for each minute M the one that opens at
 * M − 60 s, and earlier ones whose price is carried into the block.
 *
 * Upbit writes no candle for a minute without a trade, Binance writes one for every minute. A missing Binance
 * candle does not mean that nothing traded, so no price is carried across it, nor across an empty page of
 * either exchange.
 */
export class CandleBlock {
  /** The minute at which its newest candle opens. */
  readonly newestCandle: EpochMinute
  /** The minute at which its newest candle with a trade opens. */
  readonly newestTrade: EpochMinute
  /** Whether a candle is missing that another answer may have. */
  readonly isUnconfirmed: boolean
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
    this.isUnconfirmed = [...missing.values()].includes('unconfirmed')
    this.#trades = new Map(trades.map(candle => [candle[0], candle]))
    this.newestTrade = trades.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.#completeTo = completeTo
    this.#missing = missing
  }

  /** No trade, confirmed. On Upbit this also means that the market has no older candles. */
  get isEmpty(): boolean {
    return this.#trades.size === 0 && !this.isUnconfirmed
  }

  /** Whether the answer has the candle of the 60 s before `minute`, or a later one. */
  reaches(minute: EpochMinute): boolean {
    return this.newestCandle >= minute - 1
  }

  /** Whether the block can decide `minute`: no candle may still come, and none is missing unconfirmed. */
  knows(minute: EpochMinute): boolean {
    const isComplete = this.reaches(minute) || this.#completeTo >= minute + MAX_LATE_MINUTES
    return isComplete && this.#missing.get(this.#decidingOpen(minute)) !== 'unconfirmed'
  }

  /** Whether the candle of the 60 s before `minute` should exist but is missing. */
  lacks(minute: EpochMinute): boolean {
    return this.#missing.has(minute - 1)
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
