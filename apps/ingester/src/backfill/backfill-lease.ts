import { createHash } from 'node:crypto'
import { type Coin, type Context, type EpochMinute, type Milliseconds, REFERENCE_MARKETS } from '@kimchi/core'
import { LEASE_EXPIRES_AFTER_MS, type Lease } from '@kimchi/store'
import type { CandleBlockCache } from './candle-block-cache.ts'

/** An ingester may fill gaps if it has seen a new candle of each exchange within this time. */
const NEW_WITHIN_MS: Milliseconds = 90_000

/** How long the end of a process may wait for Redis to free the lease; it expires by itself as well. */
const FREE_WITHIN_MS: Milliseconds = 500

/**
 * Keeps ingesters of the same coins from fetching the same candles; never needed for correctness. There is one
 * lease for each list of coins: what two lists have in common may be fetched twice, and is stored once. An
 * ingester that is banned, refused for its region or cut off claims it no more, which leaves the work to another.
 */
export class BackfillLease {
  /** Whether the exchanges' frames show that our clock is wrong. */
  isClockWrong = false
  readonly #lease: Pick<Lease, 'claim' | 'free'>
  readonly #blocks: CandleBlockCache
  readonly #context: Context
  /** What was claimed last, and until when, by elapsed time. Undefined before the first claim. */
  #claimed: { readonly symbols: ReadonlySet<string>; readonly until: Milliseconds } | undefined
  /** The minute at which Upbit's newest candle opens. */
  #newestCandle: EpochMinute = Number.NEGATIVE_INFINITY
  /** When that candle was first seen, by elapsed time. */
  #newAt: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(lease: Pick<Lease, 'claim' | 'free'>, blocks: CandleBlockCache, context: Context) {
    this.#lease = lease
    this.#blocks = blocks
    this.#context = context
  }

  /** The symbols that this ingester has it on; undefined if it never asked. */
  get symbols(): ReadonlySet<string> | undefined {
    const { symbols, until = 0 } = this.#claimed ?? {}
    return symbols && this.#context.clock.elapsed() >= until ? new Set() : symbols
  }

  /**
   * Claims it for a minute, or frees it while this ingester is not fit to fill the coins: another one goes on at
   * once. Every ingester fetches the newest candles, whoever fills the gaps.
   * @throws why the candles cannot be fetched or Redis does not answer; a lease that is held expires meanwhile
   */
  async claim(coins: readonly Coin[]): Promise<void> {
    this.#claimed ??= { symbols: new Set(), until: 0 }
    // Loading ccxt before there are coins would hold up the streams.
    const isFit = coins.length > 0 && (await this.#hasNewCandles()) && !this.isClockWrong
    if (!isFit) await this.#lease.free()
    const until = this.#context.clock.elapsed() + LEASE_EXPIRES_AFTER_MS
    const isHeld = isFit && (await this.#lease.claim(nameOf(coins)))
    this.#claimed = { symbols: new Set(isHeld ? coins.map(({ symbol }) => symbol) : []), until }
  }

  /** Lets another ingester go on at once, as far as Redis answers in time. */
  async free(): Promise<void> {
    const { clock, log } = this.#context
    const freed = new AbortController()
    void this.#lease
      .free()
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => freed.abort())
    await clock.wait(FREE_WITHIN_MS, freed.signal)
  }

  /**
   * Fetches the newest candles of the reference markets: one request a minute to each exchange. Upbit's are
   * fetched up to Binance's newest minute, so there is a new one only while both exchanges answer.
   */
  async #hasNewCandles(): Promise<boolean> {
    const minute = await this.#blocks.newestMinute()
    const { newestCandle } = await this.#blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, minute)
    const now = this.#context.clock.elapsed()
    if (newestCandle > this.#newestCandle) {
      this.#newestCandle = newestCandle
      this.#newAt = now
    }
    return now - this.#newAt <= NEW_WITHIN_MS
  }
}

function nameOf(coins: readonly Coin[]): string {
  const symbols = coins.map(({ symbol }) => symbol).sort()
  return `backfill:${createHash('sha256').update(symbols.join()).digest('hex').slice(0, 8)}`
}
