import {
  type Clock,
  type EpochMinute,
  type EpochMs,
  type Exchange,
  HOUR_MS,
  KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  RATE_MARKET,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandlePage, CandleRequest } from '@kimchi/feeds'
import { CARRY_MINUTES, CandleBlock } from './candle-block.ts'

/** Markets whose candles every coin needs. */
const SHARED_MARKETS: ReadonlySet<Market> = new Set([RATE_MARKET, ...Object.values(REFERENCE_MARKETS)])

/**
 * Minutes that one block decides. Windows have the length of Upbit's, so that each lies within one block of
 * either exchange. An answer holds 200 candles of Upbit, 1,000 of Binance.
 * @see docs/exchanges.md#upbit-rest
 */
const BLOCK_MINUTES: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 800 }
export const WINDOW_MINUTES = BLOCK_MINUTES.upbit

/** A coin's windows within one Binance block are filled one after another, so that the block is fetched once. */
export const BINANCE_BLOCK_MINUTES = BLOCK_MINUTES.binance

/** A candle is fetched this long after its end at the earliest. @see docs/exchanges.md#unconfirmed */
export const CANDLE_GRACE_MS: Milliseconds = 10_000

/** Candles that were fetched this many minutes after a minute are final. */
const FINAL_AFTER_MINUTES = 10

/** What an answer lacks although it should be there is believed when another one, so much later, lacks it too. */
export const DOUBTED_MS: Milliseconds = MINUTE_MS

/** How many blocks of the shared markets are kept: more than three days of each. */
const MAX_BLOCKS = 64

/** A coin's windows are decided one after another, and need one block of each of its markets at a time. */
const MAX_OWN_BLOCKS = 4

/** Fetches candles by one request. */
export type FetchPage = (request: CandleRequest) => Promise<Pick<CandlePage, 'candles'>>

interface CachedBlock {
  readonly askedAt: EpochMinute
  readonly fetchedAt: EpochMs
  readonly block: Promise<CandleBlock>
  loaded?: CandleBlock
}

/** Blocks of one coin's own markets, kept while its windows are decided. */
export type OwnBlocks = Map<string, CachedBlock>

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
  /** Since when answers lack all candles of a market, or one minute of Binance. */
  readonly #absentSince = new Map<string, EpochMs>()
  /** Markets without a trade since a minute: a long outage is searched for its end once a minute. */
  readonly #quiet = new Map<Market, { readonly newest: EpochMinute; readonly since: EpochMinute }>()
  #newest: { ours: EpochMinute; minute: Promise<EpochMinute> } | undefined

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
    const ours = minuteOf(this.#clock.now() - CANDLE_GRACE_MS)
    if (this.#newest?.ours === ours) return this.#newest.minute
    const asked = { ours, minute: this.#fetchNewest(ours) }
    this.#newest = asked
    asked.minute.catch(() => {
      if (this.#newest === asked) this.#newest = undefined
    })
    return asked.minute
  }

  /**
   * The block that decides `minute` of a market.
   * @param minute the newest minute to decide, no newer than {@link newest}
   * @param own where blocks of markets are kept that not every coin needs
   */
  async blockOf(
    exchange: Exchange,
    market: Market,
    minute: EpochMinute,
    own: OwnBlocks = new Map(),
  ): Promise<CandleBlock> {
    const newest = await this.newest()
    const start = minute - (minute % BLOCK_MINUTES[exchange])
    const key = `${market} ${start}`
    const isShared = SHARED_MARKETS.has(market)
    const [blocks, max] = isShared ? [this.#blocks, this.#max] : [own, MAX_OWN_BLOCKS]
    const known = blocks.get(key)
    blocks.delete(key)
    const entry =
      known !== undefined && this.#isEnough(known, minute, newest)
        ? known
        : {
            askedAt: newest,
            fetchedAt: this.#clock.now(),
            block: this.#fetchBlock(exchange, market, start, newest),
          }
    blocks.set(key, entry)
    if (blocks.size > max) blocks.delete(blocks.keys().next().value ?? '')
    try {
      entry.loaded = await entry.block
      return entry.loaded
    } catch (thrown) {
      if (blocks.get(key) === entry) blocks.delete(key)
      throw thrown
    }
  }

  #isEnough({ askedAt, fetchedAt, loaded }: CachedBlock, minute: EpochMinute, newest: EpochMinute): boolean {
    if (loaded?.isDoubted) return Math.abs(this.#clock.now() - fetchedAt) < DOUBTED_MS
    return askedAt >= Math.min(newest, minute + FINAL_AFTER_MINUTES) || loaded?.reaches(minute) === true
  }

  /** Whether a market has traded since `minute`, by its complete candles. */
  async hasTradedSince(exchange: Exchange, market: Market, minute: EpochMinute): Promise<boolean> {
    const newest = await this.newest()
    const quiet = this.#quiet.get(market)
    if (quiet?.newest === newest && minute >= quiet.since) return false
    const length = BLOCK_MINUTES[exchange]
    for (let start = minute - (minute % length); start <= newest; start += length) {
      const block = await this.blockOf(exchange, market, Math.min(start + length - 1, newest))
      if (block.tradedSince(minute)) return true
    }
    this.#quiet.set(market, { newest, since: minute })
    return false
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
    if (candles.length > 0) this.#absentSince.delete(market)
    const isBelieved = candles.length > 0 || this.#isStillAbsent(market)
    if (exchange === 'upbit') return new CandleBlock(candles, isBelieved ? newest : Number.NEGATIVE_INFINITY)
    const there = new Set(candles.map(([open]) => open))
    const absent = new Map<EpochMinute, boolean>()
    for (let open = from; open < before; open++) {
      if (!there.has(open))
        absent.set(open, candles.length > 0 ? this.#isStillAbsent(`${market} ${open}`) : isBelieved)
    }
    return new CandleBlock(candles, newest, absent)
  }

  /** Whether an answer of a minute ago lacked it too. An hour later nobody remembers. */
  #isStillAbsent(what: string): boolean {
    const now = this.#clock.now()
    for (const [other, since] of this.#absentSince) {
      if (Math.abs(now - since) < HOUR_MS) break
      this.#absentSince.delete(other)
    }
    const since = this.#absentSince.get(what) ?? now
    this.#absentSince.set(what, since)
    return now - since >= DOUBTED_MS
  }

  async #fetchNewest(ours: EpochMinute): Promise<EpochMinute> {
    const market = REFERENCE_MARKETS.binance
    const { candles } = await this.#fetchPage({ exchange: 'binance', market, count: 1 })
    const open = candles.at(-1)?.[0]
    if (open === undefined) throw new KimchiError('KIMCHI_ERR_REST', `binance has no candle of ${market}`)
    return Math.min(open, ours)
  }
}
