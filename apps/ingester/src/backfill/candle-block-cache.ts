import {
  type Clock,
  type Context,
  type EpochMinute,
  type Exchange,
  HOUR_MS,
  isWorthALine,
  KimchiError,
  type Log,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  RATE_MARKET,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { RestClient } from '@kimchi/feeds'
import { CARRY_MINUTES, CandleBlock, type CandleLegs, type CoinMinutes, missingOf } from './candle-block.ts'

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

interface CachedBlock {
  /** The newest minute whose candles were complete when the block was fetched. */
  readonly completeTo: EpochMinute
  readonly block: Promise<CandleBlock>
  /** The block and when it came, by the clock's elapsed time; undefined while it is being fetched. */
  fetched?: CandleBlock
  fetchedAt?: Milliseconds
}

/**
 * Both exchanges' candles in aligned blocks, each fetched once however many callers wait for it. A block that
 * was fetched 10 minutes after the minute asked for is final. One that was fetched earlier, and ends before that
 * minute, is fetched again, at most once a minute. So is any block in which a candle is missing that should
 * exist, until a second answer lacks it too, and any with a row that cannot be read. The cache drops the least recently
 * used blocks.
 */
export class CandleBlockCache {
  readonly #rest: Pick<RestClient, 'fetchCandles'>
  readonly #clock: Clock
  readonly #log: Log
  readonly #blocks = new Map<string, CachedBlock>()
  readonly #unreadablePages: Record<Exchange, number> = { upbit: 0, binance: 0 }
  #newestMinute: { readonly clockMinute: EpochMinute; readonly minute: Promise<EpochMinute> } | undefined

  constructor(rest: Pick<RestClient, 'fetchCandles'>, context: Pick<Context, 'clock' | 'log'>) {
    this.#rest = rest
    this.#clock = context.clock
    this.#log = context.log
  }

  /** Candles of the exchanges that could not be read. */
  unreadable() {
    const oldest = this.#clock.elapsed() - HOUR_MS
    const recent = [...this.#blocks.values()].filter(({ fetchedAt = 0 }) => fetchedAt > oldest)
    return {
      /** How many pages had rows that could not be read. */
      pages: { ...this.#unreadablePages },
      /** The last hour's reasons; a block that was fetched again and could be read has none. */
      reasons: [...new Set(recent.flatMap(({ fetched }) => fetched?.problem ?? []))],
    }
  }

  /**
   * The candles that decide a coin's minutes up to a limit, which lie within one block of each market; undefined where
   * all are later. While an exchange seems to be down, fetches only the markets that always trade, not the coin's.
   */
  async fetchLegs({
    coin,
    minutes,
  }: CoinMinutes): Promise<{ limit: EpochMinute; legs: CandleLegs } | undefined> {
    const limit = await this.fetchLimit()
    const last = minutes.findLast(minute => minute <= limit)
    if (last === undefined) return undefined
    const [shared, upbit, binance] = await Promise.all([
      this.#fetchShared(last),
      this.blockOf('upbit', coin.upbit, last),
      this.blockOf('binance', coin.binance, last),
    ])
    return { limit, legs: { ...shared, upbit, binance } }
  }

  /**
   * The newest minute for which the newest candles show that both exchanges were up and the rate was known. Any
   * outage before it is over, so its minutes can be decided; candles of later minutes may still come.
   */
  async fetchLimit(): Promise<EpochMinute> {
    const { rate, upbitReference, binanceReference } = await this.#fetchShared(await this.newestMinute())
    const upbitUp = Math.max(rate.newestTrade, upbitReference.newestTrade)
    return Math.min(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)
  }

  /** The candles that every coin needs. */
  async #fetchShared(minute: EpochMinute) {
    const [rate, upbitReference, binanceReference] = await Promise.all([
      this.blockOf('upbit', RATE_MARKET, minute),
      this.blockOf('upbit', REFERENCE_MARKETS.upbit, minute),
      this.blockOf('binance', REFERENCE_MARKETS.binance, minute),
    ])
    return { rate, upbitReference, binanceReference }
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
    const known = this.#blocks.get(key)
    let entry = known
    if (entry === undefined || !this.#isUsable(entry, minute, newest)) {
      const block = this.#fetchBlock(exchange, market, start, newest, known?.fetched)
      entry = { completeTo: newest, block }
    }
    this.#keep(key, entry)
    try {
      entry.fetched = await entry.block
      entry.fetchedAt ??= this.#clock.elapsed()
      return entry.fetched
    } catch (thrown) {
      if (this.#blocks.get(key) === entry) this.#blocks.delete(key)
      // The request has failed: a later answer may still confirm what the block before lacks.
      if (known !== entry && known !== undefined) this.#keep(key, known)
      throw thrown
    }
  }

  #isUsable(
    { completeTo, fetchedAt = 0, fetched }: CachedBlock,
    minute: EpochMinute,
    newest: EpochMinute,
  ): boolean {
    const age = this.#clock.elapsed() - fetchedAt
    if (fetched?.isUnconfirmed || fetched?.problem) return age < CONFIRM_MISSING_AFTER_MS
    return completeTo >= Math.min(newest, minute + FINAL_AFTER_MINUTES) || fetched?.reaches(minute) === true
  }

  /** Keeps a block as the most recently used one; of too many drops the oldest that waits for no second answer. */
  #keep(key: string, entry: CachedBlock): void {
    // The order of a Map is that of its insertions: the least recently used one comes first.
    this.#blocks.delete(key)
    this.#blocks.set(key, entry)
    if (this.#blocks.size <= MAX_BLOCKS) return
    for (const [other, { fetched }] of this.#blocks)
      if (fetched?.isUnconfirmed !== true) return void this.#blocks.delete(other)
  }

  /** @param previous what was answered before, at least a minute ago if something was missing in it */
  async #fetchBlock(
    exchange: Exchange,
    market: Market,
    start: EpochMinute,
    newest: EpochMinute,
    previous: CandleBlock | undefined,
  ): Promise<CandleBlock> {
    const last = Math.min(start + BLOCK_MINUTES[exchange] - 1, newest)
    const first = start - CARRY_MINUTES
    // Upbit answers with the newest candles there are, however old.
    const count = exchange === 'upbit' ? BLOCK_MINUTES.upbit : last - first + 1
    const page = await this.#rest.fetchCandles({ exchange, market, count, last })
    if (page.message !== undefined) this.#noteUnreadable(exchange, page.message)
    const missing = missingOf({ exchange, count }, page, { first, last, previous })
    return new CandleBlock(page.candles, newest, missing, page.message)
  }

  #noteUnreadable(exchange: Exchange, reason: string): void {
    const pages = ++this.#unreadablePages[exchange]
    if (isWorthALine(pages))
      this.#log.warn({ reason, pages }, 'candles cannot be read, their minutes stay open')
  }

  async #fetchNewestMinute(clockMinute: EpochMinute): Promise<EpochMinute> {
    try {
      const market = REFERENCE_MARKETS.binance
      const { candles } = await this.#rest.fetchCandles({ exchange: 'binance', market, count: 2 })
      const [open] = candles.at(-1) ?? []
      if (open === undefined) throw new KimchiError('KIMCHI_ERR_REST', `binance has no candle of ${market}`)
      return Math.min(open - 1, clockMinute)
    } catch (thrown) {
      this.#newestMinute = undefined
      throw thrown
    }
  }
}
