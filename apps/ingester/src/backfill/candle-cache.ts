import type { Exchange, Market } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import type { MinuteRange } from '@kimchi/store'
import { CandleSeries } from './candle-series.ts'
import { joinRanges, subtractRanges } from './ranges.ts'

/** Fetches the candles of a market that open in a range. */
export type FetchCandles = (
  exchange: Exchange,
  market: Market,
  range: MinuteRange,
) => Promise<readonly MinuteCandle[]>

/**
 * Candles fetched once, however many coins need them: the rate and the markets that witness an exchange's life are shared by
 * all coins. Keep one for a pass and drop it, so that it stays small.
 */
export class CandleCache {
  readonly #fetch: FetchCandles
  readonly #markets = new Map<string, { covered: MinuteRange[]; candles: MinuteCandle[] }>()

  constructor(fetch: FetchCandles) {
    this.#fetch = fetch
  }

  /** The market's candles, of which at least those that open in `range` are known. */
  async series(exchange: Exchange, market: Market, range: MinuteRange): Promise<CandleSeries> {
    const key = `${exchange} ${market}`
    const known = this.#markets.get(key) ?? { covered: [], candles: [] }
    this.#markets.set(key, known)
    for (const part of subtractRanges(range, known.covered)) {
      known.candles.push(...(await this.#fetch(exchange, market, part)))
      known.covered = joinRanges([...known.covered, part])
    }
    return new CandleSeries(known.candles)
  }
}
