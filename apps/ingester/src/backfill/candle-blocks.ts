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

/** Candles that were fetched this many minutes after a minute are final. */
const FINAL_AFTER_MINUTES = 10

/** What an answer lacks although it should be there is believed when another one, so much later, lacks it too. */
export const DOUBTED_MS: Milliseconds = MINUTE_MS

/**
 * How many blocks are kept: those of three markets that all coins need, and of the sixteen coins that are filled
 * at once, with room for a day between two uses.
 */
const MAX_BLOCKS = 128

/** Fetches candles by one request. */
export type FetchPage = (request: CandleRequest) => Promise<Pick<CandlePage, 'candles'>>

interface CachedBlock {
  readonly completeTo: EpochMinute
  /** By the clock's elapsed time. */
  readonly fetchedAt: Milliseconds
  readonly block: Promise<CandleBlock>
  fetched?: CandleBlock
}

/**
 * Both exchanges' candles in aligned blocks, each fetched once however many callers wait for it. A block that
 * was fetched long enough after the minutes in question is final; a younger one that does not reach them, or
 * one that is doubted, is fetched again, once a minute at most. The least recently used blocks are dropped.
 */
export class CandleBlocks {
  readonly #fetchPage: FetchPage
  readonly #clock: Clock
  readonly #max: number
  readonly #blocks = new Map<string, CachedBlock>()
  /**
   * Since when, by the clock's elapsed time, answers lack a minute's candle, or all candles of a market up to a block.
   */
  readonly #absent = new Map<string, { readonly since: Milliseconds; readonly start: EpochMinute }>()
  #newest: { readonly clockMinute: EpochMinute; readonly minute: Promise<EpochMinute> } | undefined

  constructor(fetchPage: FetchPage, clock: Clock, max = MAX_BLOCKS) {
    this.#fetchPage = fetchPage
    this.#clock = clock
    this.#max = max
  }

  /**
   * The newest minute whose candles are complete by the exchange's clock: Binance has opened the next candle of
   * a market that always trades. A machine whose clock is ahead must neither read an open candle nor settle
   * minutes in the future.
   * @throws KimchiError `KIMCHI_ERR_REST` when Binance has no candle at all
   */
  newest(): Promise<EpochMinute> {
    const clockMinute = minuteOf(this.#clock.now() - CANDLE_GRACE_MS)
    if (this.#newest?.clockMinute !== clockMinute)
      this.#newest = { clockMinute, minute: this.#fetchNewest(clockMinute) }
    return this.#newest.minute
  }

  /**
   * The block that decides `minute` of a market.
   * @param minute the newest minute to decide, no newer than {@link newest}
   */
  async blockOf(exchange: Exchange, market: Market, minute: EpochMinute): Promise<CandleBlock> {
    const newest = await this.newest()
    const start = minute - (minute % BLOCK_MINUTES[exchange])
    const key = `${market} ${start}`
    let entry = this.#blocks.get(key)
    if (entry === undefined || !this.#isEnough(entry, minute, newest)) {
      const block = this.#fetchBlock(exchange, market, start, newest)
      entry = { completeTo: newest, fetchedAt: this.#clock.elapsed(), block }
    }
    // The order of a Map is that of its insertions: the least recently used one comes first.
    this.#blocks.delete(key)
    this.#blocks.set(key, entry)
    if (this.#blocks.size > this.#max) this.#blocks.delete(this.#blocks.keys().next().value ?? '')
    try {
      entry.fetched = await entry.block
      return entry.fetched
    } catch (thrown) {
      if (this.#blocks.get(key) === entry) this.#blocks.delete(key)
      throw thrown
    }
  }

  #isEnough(
    { completeTo, fetchedAt, fetched }: CachedBlock,
    minute: EpochMinute,
    newest: EpochMinute,
  ): boolean {
    if (fetched?.isDoubted) return this.#clock.elapsed() - fetchedAt < DOUBTED_MS
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
    // Candles show that an empty page of this block, or of a newer one, was wrong; those of a newer block do not.
    if (!isEmpty && start <= (this.#absent.get(market)?.start ?? 0)) this.#absent.delete(market)
    const there = new Set(candles.map(([open]) => open))
    const absent = new Map<EpochMinute, boolean>()
    if (exchange === 'binance' || isEmpty) {
      for (let open = from; open < before; open++) {
        if (there.has(open)) continue
        const isAbsent = isEmpty
          ? this.#isStillAbsent(market, start)
          : this.#isStillAbsent(`${market} ${open}`, open)
        absent.set(open, isAbsent)
      }
    }
    return new CandleBlock(candles, newest, absent)
  }

  /**
   * Whether an answer of a minute ago lacked it too, or a market's whole pages from a block of that age or a newer
   * one on. An hour later nobody remembers.
   */
  #isStillAbsent(what: string, start: EpochMinute): boolean {
    const now = this.#clock.elapsed()
    for (const [other, { since }] of this.#absent) {
      if (now - since < HOUR_MS) break
      this.#absent.delete(other)
    }
    const known = this.#absent.get(what)
    if (known !== undefined && start <= known.start) return now - known.since >= DOUBTED_MS
    this.#absent.delete(what)
    this.#absent.set(what, { since: now, start })
    return false
  }

  async #fetchNewest(clockMinute: EpochMinute): Promise<EpochMinute> {
    try {
      const market = REFERENCE_MARKETS.binance
      const { candles } = await this.#fetchPage({ exchange: 'binance', market, count: 1 })
      const open = candles.at(-1)?.[0]
      if (open === undefined) throw new KimchiError('KIMCHI_ERR_REST', `binance has no candle of ${market}`)
      return Math.min(open, clockMinute)
    } catch (thrown) {
      this.#newest = undefined
      throw thrown
    }
  }
}
