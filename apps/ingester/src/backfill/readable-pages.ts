import {
  type Context,
  type EpochMinute,
  type Exchange,
  HOUR_MS,
  isWorthALine,
  type Market,
  MINUTE_MS,
  type Milliseconds,
} from '@kimchi/core'
import {
  type CandlePage,
  type CandleRequest,
  type MinutesBetween,
  UnreadableCandles,
  type Want,
} from '@kimchi/feeds'

/** A page that cannot be read is asked for again for this long before what its other rows say is taken. */
export const UNREADABLE_AFTER_MS: Milliseconds = 10 * MINUTE_MS

/** An operator hears of a market whose pages could not be read as often as this in a row. */
const WORTH_A_WORD = 2

export type FetchPage = (request: CandleRequest, want?: Want) => Promise<Pick<CandlePage, 'candles'>>

/** Candles, and where others may be that cannot be read. */
export interface PartialPage extends Pick<CandlePage, 'candles'> {
  readonly unreadable: readonly MinutesBetween[]
}

/** A market whose pages cannot be read. Its instants are of the clock's elapsed time. */
export interface UnreadableMarket {
  readonly exchange: Exchange
  readonly market: Market
  /** Which page was the first; only a whole answer to it ends this. */
  readonly start: EpochMinute
  readonly since: Milliseconds
  /** When the last one came, and how many have come. */
  lastAt: Milliseconds
  times: number
  reason: string
}

/**
 * Lets through pages that can be read whole. A page with a bad row is a failure, so that it is asked for again, and of
 * one that stays so for ten minutes only the bad rows are left out.
 */
export class ReadablePages {
  readonly #fetchPage: FetchPage
  readonly #context: Pick<Context, 'clock' | 'log'>
  readonly #markets = new Map<Market, UnreadableMarket>()
  readonly #counts: Record<Exchange, number> = { upbit: 0, binance: 0 }

  constructor(fetchPage: FetchPage, context: Pick<Context, 'clock' | 'log'>) {
    this.#fetchPage = fetchPage
    this.#context = context
  }

  /**
   * @param start names the page among those of its market
   * @throws UnreadableCandles
   */
  async fetch(request: CandleRequest, start: EpochMinute, want?: Want): Promise<PartialPage> {
    const { market } = request
    try {
      const { candles } = await this.#fetchPage(request, want)
      if (this.#markets.get(market)?.start === start) this.#markets.delete(market)
      return { candles, unreadable: [] }
    } catch (thrown) {
      if (!(thrown instanceof UnreadableCandles)) throw thrown
      const { since, lastAt } = this.#note(request, start, thrown.message)
      if (lastAt - since < UNREADABLE_AFTER_MS) throw thrown
      return thrown
    }
  }

  status() {
    const now = this.#context.clock.elapsed()
    const markets = [...this.#markets.values()]
    return {
      /** How many pages could not be read. */
      pages: { ...this.#counts },
      /** The markets of which more than one could not in the last hour. */
      markets: markets.filter(({ times, lastAt }) => times >= WORTH_A_WORD && now - lastAt < HOUR_MS),
    }
  }

  #note({ exchange, market }: CandleRequest, start: EpochMinute, reason: string): UnreadableMarket {
    const { clock, log } = this.#context
    const now = clock.elapsed()
    const known = this.#markets.get(market)
    // Nobody may need the first page any more.
    const isCurrent = known !== undefined && now - known.lastAt < HOUR_MS
    const entry = isCurrent ? known : { exchange, market, start, since: now, lastAt: now, times: 0, reason }
    entry.lastAt = now
    entry.times += 1
    entry.reason = reason
    this.#markets.set(market, entry)
    this.#counts[exchange] += 1
    if (isWorthALine(entry.times + 1 - WORTH_A_WORD)) {
      log.warn({ exchange, market, reason }, 'candles cannot be read, their minutes stay open')
    }
    return entry
  }
}
