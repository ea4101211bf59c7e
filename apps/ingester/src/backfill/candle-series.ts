import type { EpochMinute } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'

/** One market's candles, ascending, each minute at most once; minutes may be missing. */
export class CandleSeries {
  /** All of them, ascending. */
  readonly candles: readonly MinuteCandle[]

  /** @param candles in any order; the last one given wins where a minute comes twice */
  constructor(candles: Iterable<MinuteCandle>) {
    const byMinute = new Map<EpochMinute, MinuteCandle>()
    for (const candle of candles) byMinute.set(candle[0], candle)
    this.candles = [...byMinute.values()].sort(([a], [b]) => a - b)
  }

  /** The candle that opens at exactly this minute. */
  at(openMinute: EpochMinute): MinuteCandle | undefined {
    const candle = this.lastBefore(openMinute + 1)
    return candle?.[0] === openMinute ? candle : undefined
  }

  /** The newest candle that opens before `minute`. */
  lastBefore(minute: EpochMinute): MinuteCandle | undefined {
    let low = 0
    let high = this.candles.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.candles[middle] as MinuteCandle)[0] < minute) low = middle + 1
      else high = middle
    }
    return this.candles[low - 1]
  }
}
