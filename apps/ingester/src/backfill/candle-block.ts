import { type Coin, type EpochMinute, MAX_CARRY_MS, MINUTE_MS } from '@kimchi/core'
import type { CandlePage, CandleRequest, MinuteCandle } from '@kimchi/feeds'

/**
 * A candle's price is carried over at most this many minutes. When in its minute it traded last is unknown and counts as
 * its start: one less than for a live price.
 */
export const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS - 1

/** An exchange may publish a candle late, but not later than this many minutes after the candle's end. */
const MAX_LATE_MINUTES = 3

/**
 * Candles that should exist but are missing, by their minutes. One is confirmed when a second answer lacks it too.
 * One that is unreadable may be in the answer, in a row that says nothing.
 */
type MissingCandles = ReadonlyMap<EpochMinute, MissingState>
type MissingState = 'confirmed' | 'unconfirmed' | 'unreadable'

/**
 * The candles of one market that decide the minutes of one block: for each minute the one that ends at it, and earlier
 * ones whose price is carried into the block. A candle's minute is always that of its end.
 *
 * Upbit writes no candle for a minute without a trade, Binance writes one for every minute. A missing Binance
 * candle does not mean that nothing traded, so no price is carried across it, nor across a row that cannot be
 * read of either exchange, or what an empty or short page lacks.
 */
export class CandleBlock {
  /** The minute of its newest candle. */
  readonly newestCandle: EpochMinute
  /** The minute of its newest candle with a trade. */
  readonly newestTrade: EpochMinute
  /** Whether a candle is missing that another answer may have. */
  readonly isUnconfirmed: boolean
  /** Why some rows could not be read, any of which may be a candle; undefined when all could be. */
  readonly problem: string | undefined
  /** Candles with a trade, by their minutes. */
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
    problem?: string,
  ) {
    const trades = candles.filter(([, , volume]) => volume > 0)
    this.newestCandle = candles.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.isUnconfirmed = [...missing.values()].includes('unconfirmed')
    this.problem = problem
    this.#trades = new Map(trades.map(candle => [candle[0], candle]))
    this.newestTrade = trades.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY
    this.#completeTo = completeTo
    this.#missing = missing
  }

  /** No trade, for sure. On Upbit this also means that the market has no older candles. */
  get isEmpty(): boolean {
    return this.#trades.size === 0 && !this.isUnconfirmed && this.problem === undefined
  }

  /** Whether the answer has the candle of `minute`, or a later one. */
  reaches(minute: EpochMinute): boolean {
    return this.newestCandle >= minute
  }

  /** Whether the block can decide `minute`: no candle may still come, or be there and not be known. */
  knows(minute: EpochMinute): boolean {
    const isComplete = this.reaches(minute) || this.#completeTo >= minute + MAX_LATE_MINUTES
    const state = this.#missing.get(this.#decidingMinute(minute)) ?? 'confirmed'
    return isComplete && state === 'confirmed'
  }

  /** Whether the candle of `minute` should exist but is missing. */
  lacks(minute: EpochMinute): boolean {
    return (this.#missing.get(minute) ?? 'unreadable') !== 'unreadable'
  }

  /** Whether there was a trade in the 60 s before `minute`. */
  traded(minute: EpochMinute): boolean {
    return this.#trades.has(minute)
  }

  /** The last candle with a trade that may be carried to `minute`, unless one after it is missing. */
  lastTrade(minute: EpochMinute): MinuteCandle | undefined {
    return this.#trades.get(this.#decidingMinute(minute))
  }

  /**
   * The minute of the candle that decides `minute`: the newest up to it that has a trade or is missing. If there is
   * neither, the oldest from which a price may be carried.
   */
  #decidingMinute(minute: EpochMinute): EpochMinute {
    let deciding = minute
    const oldest = minute - CARRY_MINUTES
    while (deciding > oldest && !this.#trades.has(deciding) && !this.#missing.has(deciding)) deciding -= 1
    return deciding
  }
}

/** Minutes of one coin, ascending. */
export interface CoinMinutes {
  readonly coin: Coin
  readonly minutes: readonly EpochMinute[]
}

/** The candles by which a coin's minutes are decided. */
export interface CandleLegs {
  readonly upbit: CandleBlock
  readonly binance: CandleBlock
  readonly rate: CandleBlock
  readonly upbitReference: CandleBlock
  readonly binanceReference: CandleBlock
}

/**
 * The candles from `first` to `last` that should be there and are not. Upbit writes none for a minute without a trade,
 * but a page of it is short only where the market has no older candles; a full one says nothing of minutes before it.
 */
export function missingOf(
  { exchange, count }: Pick<CandleRequest, 'exchange' | 'count'>,
  { candles, unreadable = [] }: CandlePage,
  { first, last, previous }: { first: EpochMinute; last: EpochMinute; previous: CandleBlock | undefined },
): MissingCandles {
  const there = new Set(candles.map(([minute]) => minute))
  const isShort = candles.length + unreadable.length < count
  const oldest = candles[0]?.[0] ?? Number.POSITIVE_INFINITY
  const missing = new Map<EpochMinute, MissingState>()
  for (let minute = first; minute <= last; minute++) {
    if (there.has(minute)) continue
    if (unreadable.includes(minute) || unreadable.includes(undefined)) missing.set(minute, 'unreadable')
    else if (exchange === 'upbit' && minute < oldest && !isShort) missing.set(minute, 'unreadable')
    else if (exchange === 'binance' || minute < oldest)
      missing.set(minute, previous?.lacks(minute) ? 'confirmed' : 'unconfirmed')
  }
  return missing
}
