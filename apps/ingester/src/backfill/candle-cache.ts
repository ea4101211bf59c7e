import {
  DAY_MINUTES,
  type EpochMinute,
  type Exchange,
  type Market,
  RATE_MARKET,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import type { MinuteRange } from '@kimchi/store'
import { CandleSeries } from './candle-series.ts'
import { intersectRanges, joinRanges, subtractRanges } from './ranges.ts'

/** Fetches the candles of a market that open in a range. */
export type FetchCandles = (
  exchange: Exchange,
  market: Market,
  range: MinuteRange,
) => Promise<readonly MinuteCandle[]>

/** Markets whose candles every coin needs: the rate, and those that witness an exchange's life. */
const SHARED: ReadonlySet<Market> = new Set([
  RATE_MARKET,
  ...REFERENCE_MARKETS.upbit,
  ...REFERENCE_MARKETS.binance,
])

/** Work goes from new to old; what is this much newer than the work at hand is not needed again. */
const KEPT_MINUTES = DAY_MINUTES

/**
 * Candles of shared markets fetched once, however many coins need them. Stays small over any span of work: a coin's own candles go
 * with {@link CandleCache.leave}, shared ones when the work has moved on to older minutes.
 */
export class CandleCache {
  readonly #fetch: FetchCandles
  readonly #markets = new Map<Market, Known>()

  constructor(fetch: FetchCandles) {
    this.#fetch = fetch
  }

  /** The market's candles, of which at least those that open in `range` are known. */
  async series(exchange: Exchange, market: Market, range: MinuteRange): Promise<CandleSeries> {
    let known = this.#markets.get(market) ?? NOTHING
    for (const part of subtractRanges(range, known.covered)) {
      const candles = [...known.series.candles, ...(await this.#fetch(exchange, market, part))]
      known = { covered: joinRanges([...known.covered, part]), series: new CandleSeries(candles) }
    }
    this.#markets.set(market, known)
    return known.series
  }

  /** A coin is done in this window. */
  leave({ end }: MinuteRange): void {
    for (const [market, known] of this.#markets) {
      if (!SHARED.has(market)) this.#markets.delete(market)
      else if ((known.covered.at(-1)?.end ?? end) > end + 2 * KEPT_MINUTES) {
        this.#markets.set(market, until(known, end + KEPT_MINUTES))
      }
    }
  }
}

interface Known {
  readonly covered: readonly MinuteRange[]
  readonly series: CandleSeries
}

const NOTHING: Known = { covered: [], series: new CandleSeries([]) }

function until({ covered, series }: Known, end: EpochMinute): Known {
  return {
    covered: intersectRanges(covered, { start: 0, end }),
    series: new CandleSeries(series.candles.filter(([openMinute]) => openMinute < end)),
  }
}
