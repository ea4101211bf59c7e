import {
  type Context,
  type EpochMinute,
  type Exchange,
  KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandlePage, CandleRequest, MinuteCandle } from '@kimchi/feeds'
import { CARRY_MINUTES, CandleBlock } from './candle-block.ts'

/**
 * Minutes that one block decides; each of Upbit's lies within one of Binance's. An answer holds 200 candles of
 * Upbit, 1,000 of Binance.
 * @see docs/exchanges.md#upbit-rest
 */
export const BLOCK_MINUTES: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 800 }

/** A candle is fetched this long after its end at the earliest. @see docs/exchanges.md#unconfirmed */
export const CANDLE_GRACE_MS: Milliseconds = 10_000

/** A block that was fetched this many minutes after a minute decides it for good. */
const FINAL_AFTER_MINUTES = 10

/** If a candle that should exist is missing, we ask again after this long; missing twice counts as missing. */
const CONFIRM_MISSING_AFTER_MS: Milliseconds = MINUTE_MS

/**
 * How many blocks are kept. An import needs most: for five days, 81 of the three markets that all coins need, and
 * 45 of each of the four coins at once.
 */
const MAX_BLOCKS = 270

export type FetchPage = (request: CandleRequest) => Promise<Pick<CandlePage, 'candles'>>

interface CachedBlock {
  readonly block: Promise<CandleBlock>
  /** The newest minute whose candles were complete when the block was fetched. */
  readonly completeTo: EpochMinute
}

/**
 * Both exchanges' candles in aligned blocks, each fetched once however many callers wait for it. A block that
 * was fetched 10 minutes after the minute asked for is final. One that was fetched earlier is fetched again, at
 * most once a minute. The cache drops the least recently used blocks.
 *
 * A candle that should exist is believed to be missing when two answers, a minute apart, lack it.
 */
export class CandleBlockCache {
  readonly #fetchPage: FetchPage
  readonly #context: Pick<Context, 'clock' | 'signal'>
  readonly #blocks = new Map<string, CachedBlock>()
  /** Where a block begins that two answers showed empty, by market: an empty answer to an older one is true. */
  readonly #emptyFrom = new Map<Market, EpochMinute>()
  #newestMinute: { readonly clockMinute: EpochMinute; readonly minute: Promise<EpochMinute> } | undefined

  constructor(fetchPage: FetchPage, context: Pick<Context, 'clock' | 'signal'>) {
    this.#fetchPage = fetchPage
    this.#context = context
  }

  /**
   * The newest minute whose candles are complete by the exchange's clock: Binance has opened the next candle of
   * a market that always trades. A machine whose clock is ahead must neither read an open candle nor settle
   * minutes in the future.
   * @throws KimchiError `KIMCHI_ERR_REST` when Binance has no candle at all
   */
  newestMinute(): Promise<EpochMinute> {
    const clockMinute = minuteOf(this.#context.clock.now() - CANDLE_GRACE_MS)
    if (this.#newestMinute?.clockMinute !== clockMinute)
      this.#newestMinute = { clockMinute, minute: this.#fetchNewestMinute(clockMinute) }
    return this.#newestMinute.minute
  }

  /**
   * The block that decides `minute` of a market; a minute later where a candle seems to be missing.
   * @param minute the newest minute to decide, no newer than {@link newestMinute}
   */
  async blockOf(exchange: Exchange, market: Market, minute: EpochMinute): Promise<CandleBlock> {
    const newest = await this.newestMinute()
    const start = minute - (minute % BLOCK_MINUTES[exchange])
    const key = `${market} ${start}`
    let entry = this.#blocks.get(key)
    if (entry === undefined || entry.completeTo < Math.min(newest, minute + FINAL_AFTER_MINUTES))
      entry = { block: this.#fetchBlock(exchange, market, start, newest, entry?.block), completeTo: newest }
    // The order of a Map is that of its insertions: the least recently used one comes first.
    this.#blocks.delete(key)
    this.#blocks.set(key, entry)
    if (this.#blocks.size > MAX_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value ?? '')
    try {
      return await entry.block
    } catch (thrown) {
      if (this.#blocks.get(key) === entry) this.#blocks.delete(key)
      throw thrown
    }
  }

  /** @param earlier the same block, as it was fetched before */
  async #fetchBlock(
    exchange: Exchange,
    market: Market,
    start: EpochMinute,
    newest: EpochMinute,
    earlier: Promise<CandleBlock> | undefined,
  ): Promise<CandleBlock> {
    const { clock, signal } = this.#context
    // The sample of M needs the candles that open before M, from M − 60 s on.
    const before = Math.min(start + BLOCK_MINUTES[exchange], newest + 1) - 1
    const from = start - 1 - CARRY_MINUTES
    // Upbit answers with the newest candles there are, however old.
    const count = exchange === 'upbit' ? BLOCK_MINUTES.upbit : before - from
    const candles = new Map<EpochMinute, MinuteCandle>()
    const fetchCandles = async () => {
      const page = await this.#fetchPage({ exchange, market, count, before })
      for (const candle of page.candles) candles.set(candle[0], candle)
    }
    const missing = () => {
      const opens = Array.from({ length: before - from }, (_, at) => from + at)
      return exchange === 'upbit' && candles.size > 0 ? [] : opens.filter(open => !candles.has(open))
    }
    // What Binance lacks of the market that always trades, after maintenance, it has of no other.
    const reference = this.#blocks.get(`${REFERENCE_MARKETS.binance} ${start}`)?.block
    const blocks = exchange === 'binance' ? [earlier, reference] : [earlier]
    const known = await Promise.all(blocks.map(block => block?.catch(() => undefined)))
    await fetchCandles()
    const isEmptyAgain = candles.size === 0 && start <= (this.#emptyFrom.get(market) ?? 0)
    if (!isEmptyAgain && !missing().every(open => known.some(block => block?.lacks(open + 1)))) {
      await clock.wait(CONFIRM_MISSING_AFTER_MS, signal)
      await fetchCandles()
      if (candles.size === 0) this.#emptyFrom.set(market, start)
    }
    const ascending = [...candles.values()].sort(([a], [b]) => a - b)
    return new CandleBlock(ascending, newest, missing())
  }

  async #fetchNewestMinute(clockMinute: EpochMinute): Promise<EpochMinute> {
    try {
      const market = REFERENCE_MARKETS.binance
      const { candles } = await this.#fetchPage({ exchange: 'binance', market, count: 1 })
      const open = candles.at(-1)?.[0]
      if (open === undefined) throw new KimchiError('KIMCHI_ERR_REST', `binance has no candle of ${market}`)
      return Math.min(open, clockMinute)
    } catch (thrown) {
      this.#newestMinute = undefined
      throw thrown
    }
  }
}
