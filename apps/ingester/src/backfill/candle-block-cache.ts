import {
  type Clock,
  type EpochMinute,
  type Exchange,
  HOUR_MS,
  KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandlePage, CandleRequest } from '@kimchi/feeds'
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
export const CONFIRM_MISSING_AFTER_MS: Milliseconds = MINUTE_MS

/**
 * How many blocks are kept. An import needs most: for five days, 81 of the three markets that all coins need, and
 * 45 of each of the four coins at once.
 */
const MAX_BLOCKS = 270

export type FetchPage = (request: CandleRequest) => Promise<Pick<CandlePage, 'candles'>>

interface CachedBlock {
  /** The newest minute whose candles were complete when the block was fetched. */
  readonly completeTo: EpochMinute
  /** By the clock's elapsed time. */
  readonly fetchedAt: Milliseconds
  readonly block: Promise<CandleBlock>
  /** What `block` has resolved with; undefined before. */
  fetched?: CandleBlock
}

/**
 * Both exchanges' candles in aligned blocks, each fetched once however many callers wait for it. A block that
 * was fetched 10 minutes after the minute asked for is final. One that was fetched earlier, and ends before that
 * minute, is fetched again, at most once a minute. So is any block in which a candle is missing that should
 * exist, until a second answer lacks it too. The cache drops the least recently used blocks.
 */
export class CandleBlockCache {
  readonly #fetchPage: FetchPage
  readonly #clock: Clock
  readonly #blocks = new Map<string, CachedBlock>()
  /**
   * When each missing candle, or a market's empty page, was first seen, by the clock's elapsed time; the oldest
   * comes first. An empty page at `start` stands for all older blocks of its market as well.
   */
  readonly #firstMissing = new Map<string, { readonly since: Milliseconds; readonly start: EpochMinute }>()
  #newestMinute: { readonly clockMinute: EpochMinute; readonly minute: Promise<EpochMinute> } | undefined

  constructor(fetchPage: FetchPage, clock: Clock) {
    this.#fetchPage = fetchPage
    this.#clock = clock
  }

  /**
   * The newest minute whose candles are complete by the exchange's clock: Binance has opened the next candle of
   * a market that always trades. A machine whose clock is ahead must neither read an open candle nor settle
   * minutes in the future.
   * @throws KimchiError `KIMCHI_ERR_REST` when Binance has no candle at all
   */
  newestMinute(): Promise<EpochMinute> {
    const clockMinute = minuteOf(this.#clock.now() - CANDLE_GRACE_MS)
    if (this.#newestMinute?.clockMinute !== clockMinute)
      this.#newestMinute = { clockMinute, minute: this.#fetchNewestMinute(clockMinute) }
    return this.#newestMinute.minute
  }

  /**
   * The block that decides `minute` of a market.
   * @param minute the newest minute to decide, no newer than {@link newestMinute}
   */
  async blockOf(exchange: Exchange, market: Market, minute: EpochMinute): Promise<CandleBlock> {
    const newest = await this.newestMinute()
    const start = minute - (minute % BLOCK_MINUTES[exchange])
    const key = `${market} ${start}`
    let entry = this.#blocks.get(key)
    if (entry === undefined || !this.#isUsable(entry, minute, newest)) {
      const block = this.#fetchBlock(exchange, market, start, newest)
      entry = { completeTo: newest, fetchedAt: this.#clock.elapsed(), block }
    }
    // The order of a Map is that of its insertions: the least recently used one comes first.
    this.#blocks.delete(key)
    this.#blocks.set(key, entry)
    if (this.#blocks.size > MAX_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value ?? '')
    try {
      entry.fetched = await entry.block
      return entry.fetched
    } catch (thrown) {
      if (this.#blocks.get(key) === entry) this.#blocks.delete(key)
      throw thrown
    }
  }

  #isUsable(
    { completeTo, fetchedAt, fetched }: CachedBlock,
    minute: EpochMinute,
    newest: EpochMinute,
  ): boolean {
    if (fetched?.isUnconfirmed) return this.#clock.elapsed() - fetchedAt < CONFIRM_MISSING_AFTER_MS
    return completeTo >= Math.min(newest, minute + FINAL_AFTER_MINUTES) || fetched?.reaches(minute) === true
  }

  async #fetchBlock(
    exchange: Exchange,
    market: Market,
    start: EpochMinute,
    newest: EpochMinute,
  ): Promise<CandleBlock> {
    // The sample of M needs the candles that open before M, from M − 60 s on.
    const before = Math.min(start + BLOCK_MINUTES[exchange], newest + 1) - 1
    const from = start - 1 - CARRY_MINUTES
    // Upbit answers with the newest candles there are, however old.
    const count = exchange === 'upbit' ? BLOCK_MINUTES.upbit : before - from
    const { candles } = await this.#fetchPage({ exchange, market, count, before })
    const isEmpty = candles.length === 0
    // This block has candles, so an empty page of it or of a newer block was a mistake.
    if (!isEmpty && start <= (this.#firstMissing.get(market)?.start ?? 0)) this.#firstMissing.delete(market)
    const there = new Set(candles.map(([open]) => open))
    const missing = new Map<EpochMinute, 'confirmed' | 'unconfirmed'>()
    if (exchange === 'binance' || isEmpty) {
      for (let open = from; open < before; open++) {
        if (there.has(open)) continue
        const isConfirmed = isEmpty
          ? this.#noteMissing(market, start)
          : this.#noteMissing(`${market} ${open}`, open)
        missing.set(open, isConfirmed ? 'confirmed' : 'unconfirmed')
      }
    }
    return new CandleBlock(candles, newest, missing)
  }

  /**
   * Notes a missing candle, or every candle of a market up to a block, for an hour.
   * @returns whether it was already missing a minute ago
   */
  #noteMissing(what: string, start: EpochMinute): boolean {
    const now = this.#clock.elapsed()
    for (const [other, { since }] of this.#firstMissing) {
      if (now - since < HOUR_MS) break
      this.#firstMissing.delete(other)
    }
    const known = this.#firstMissing.get(what)
    if (known !== undefined && start <= known.start) return now - known.since >= CONFIRM_MISSING_AFTER_MS
    this.#firstMissing.delete(what)
    this.#firstMissing.set(what, { since: now, start })
    return false
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
