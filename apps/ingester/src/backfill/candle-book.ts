import {
  DAY_MINUTES,
  type EpochMinute,
  type Exchange,
  type Market,
  RATE_MARKET,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandlePage } from '@kimchi/feeds'
import type { MinuteRange } from '@kimchi/store'
import { type CandleSeries, createCandleSeries } from './candle-series.ts'
import { intersectRanges, joinRanges, subtractRanges } from './ranges.ts'

/** The most candles that one answer holds. @see docs/exchanges.md#upbit-rest */
export const PAGE_MINUTES: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 1_000 }

/** Fetches the newest candles of a market that open in a range; one request. */
export type FetchPage = (exchange: Exchange, market: Market, opens: MinuteRange) => Promise<CandlePage>

/** Markets whose candles every coin needs: the rate, and those that always trade. */
export const SHARED_MARKETS: ReadonlySet<Market> = new Set([
  RATE_MARKET,
  ...REFERENCE_MARKETS.upbit,
  ...REFERENCE_MARKETS.binance,
])

/** Work goes from new to old; what is this much newer than the work at hand is dropped. */
const KEPT_MINUTES = DAY_MINUTES

/** Candles that were fetched already, each once, as far as work may need them again. */
export interface CandleBook {
  /**
   * The market's candles, of which at least those that open in `opens` are known.
   * @param reach a page that is asked for anyway may reach back to here @default only what is missing of
   * `opens`
   */
  series(exchange: Exchange, market: Market, opens: MinuteRange, reach?: EpochMinute): Promise<CandleSeries>
  /** What is known of the market now, without asking for more. */
  known(market: Market): KnownCandles
  /** A coin is done with everything from `start` on; what opens before may serve its older minutes. */
  leave(market: Market, start: EpochMinute): void
  /** Forgets what opens from `start` on, so that it is asked for again. */
  forgetFrom(start: EpochMinute): void
}

/** Candles, and the minutes in which no other candle opens. */
export interface KnownCandles {
  readonly covered: readonly MinuteRange[]
  readonly series: CandleSeries
}

/** An empty {@link CandleBook}. */
export function createCandleBook(fetchPage: FetchPage): CandleBook {
  return new PagedCandles(fetchPage)
}

const NOTHING: KnownCandles = { covered: [], series: createCandleSeries([]) }

class PagedCandles implements CandleBook {
  readonly #fetchPage: FetchPage
  readonly #markets = new Map<Market, KnownCandles>()
  /** One request at a time for each market, so that two coins don't ask for the same page. */
  readonly #turns = new Map<Market, Promise<unknown>>()

  constructor(fetchPage: FetchPage) {
    this.#fetchPage = fetchPage
  }

  series(
    exchange: Exchange,
    market: Market,
    opens: MinuteRange,
    reach = Number.POSITIVE_INFINITY,
  ): Promise<CandleSeries> {
    const before = this.#turns.get(market) ?? Promise.resolve()
    const turn = before.catch(() => {}).then(() => this.#load(exchange, market, opens, reach))
    this.#turns.set(market, turn)
    return turn
  }

  known(market: Market): KnownCandles {
    return this.#markets.get(market) ?? NOTHING
  }

  leave(market: Market, start: EpochMinute): void {
    if (!SHARED_MARKETS.has(market)) {
      this.#keepBefore(market, start)
      return
    }
    const newest = this.known(market).covered.at(-1)?.end ?? start
    const isFarBehind = Number.isFinite(start) && newest > start + 2 * KEPT_MINUTES
    if (isFarBehind) this.#keepBefore(market, start + KEPT_MINUTES)
  }

  forgetFrom(start: EpochMinute): void {
    for (const market of this.#markets.keys()) this.#keepBefore(market, start)
  }

  async #load(
    exchange: Exchange,
    market: Market,
    opens: MinuteRange,
    reach: EpochMinute,
  ): Promise<CandleSeries> {
    for (;;) {
      const { covered, series } = this.known(market)
      const hole = subtractRanges([opens], covered).at(-1)
      if (hole === undefined) return series
      const start = Math.min(hole.start, Math.max(reach, hole.end - PAGE_MINUTES[exchange]))
      const page = await this.#fetchPage(exchange, market, { start, end: hole.end })
      this.#markets.set(market, {
        covered: joinRanges([...this.known(market).covered, { start: page.start, end: hole.end }]),
        series: createCandleSeries([...this.known(market).series.candles, ...page.candles]),
      })
    }
  }

  #keepBefore(market: Market, end: EpochMinute): void {
    const { covered, series } = this.known(market)
    const kept = intersectRanges(covered, { start: Number.NEGATIVE_INFINITY, end })
    if (kept.length === 0) this.#markets.delete(market)
    else {
      this.#markets.set(market, {
        covered: kept,
        series: createCandleSeries(series.candles.filter(([openMinute]) => openMinute < end)),
      })
    }
  }
}
