import type { EpochMinute } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'

/** One market's candles, ascending, each minute at most once; minutes may be missing, or have no volume. */
export interface CandleSeries {
  readonly candles: readonly MinuteCandle[]
  /** The candle that opens at exactly this minute. */
  at(openMinute: EpochMinute): MinuteCandle | undefined
  /** Whether there was a trade in the minute that begins with `openMinute`. */
  traded(openMinute: EpochMinute): boolean
  /** The newest candle with a trade that opens before `minute`. */
  lastTradedBefore(minute: EpochMinute): MinuteCandle | undefined
}

/** A {@link CandleSeries}. @param candles in any order; the last one given wins where a minute comes twice */
export function createCandleSeries(candles: Iterable<MinuteCandle>): CandleSeries {
  return new SortedCandles(candles)
}

class SortedCandles implements CandleSeries {
  readonly candles: readonly MinuteCandle[]

  constructor(candles: Iterable<MinuteCandle>) {
    const byMinute = new Map<EpochMinute, MinuteCandle>()
    for (const candle of candles) byMinute.set(candle[0], candle)
    this.candles = [...byMinute.values()].sort(([a], [b]) => a - b)
  }

  at(openMinute: EpochMinute): MinuteCandle | undefined {
    const candle = this.candles[this.#countBefore(openMinute)]
    return candle?.[0] === openMinute ? candle : undefined
  }

  traded(openMinute: EpochMinute): boolean {
    return (this.at(openMinute)?.[2] ?? 0) > 0
  }

  lastTradedBefore(minute: EpochMinute): MinuteCandle | undefined {
    for (let index = this.#countBefore(minute) - 1; index >= 0; index--) {
      const candle = this.candles[index]
      if (candle !== undefined && candle[2] > 0) return candle
    }
    return undefined
  }

  /** How many candles open before `minute`. */
  #countBefore(minute: EpochMinute): number {
    let low = 0
    let high = this.candles.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.candles[middle] as MinuteCandle)[0] < minute) low = middle + 1
      else high = middle
    }
    return low
  }
}
