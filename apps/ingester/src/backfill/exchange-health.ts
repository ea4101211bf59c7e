import { type Context, type EpochMinute, type Milliseconds, REFERENCE_MARKETS } from '@kimchi/core'
import type { CandleBlockCache } from './candle-block-cache.ts'

/** An ingester may fill gaps if it has seen a new candle of each exchange within this time. */
const NEW_WITHIN_MS: Milliseconds = 90_000

/** Candles are asked for this often; those that the cache has cost no request. */
const FETCH_EVERY_MS: Milliseconds = 10_000

/**
 * Watches whether this ingester gets the candles of both exchanges, so that it may hold the lease. An ingester
 * that is banned, refused for its region or cut off leaves the work to another.
 */
export class ExchangeHealth {
  /** Why the last attempt to fetch candles failed; undefined if it succeeded. */
  failure: unknown
  readonly #blocks: CandleBlockCache
  readonly #context: Pick<Context, 'clock' | 'signal'>
  /** The minute at which Upbit's newest candle opens. */
  #newest: EpochMinute = Number.NEGATIVE_INFINITY
  /** When that candle was first seen, by the clock's elapsed time. */
  #newAt: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(blocks: CandleBlockCache, context: Pick<Context, 'clock' | 'signal'>) {
    this.#blocks = blocks
    this.#context = context
  }

  get isWell(): boolean {
    return this.#context.clock.elapsed() - this.#newAt <= NEW_WITHIN_MS
  }

  /** Fetches until the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    while (!signal.aborted) {
      this.failure = await this.#fetch().catch(thrown => thrown)
      await clock.wait(FETCH_EVERY_MS, signal)
    }
  }

  /**
   * Fetches the newest candles of the reference markets: one request a minute to each exchange. Upbit's are
   * fetched up to Binance's newest minute, so there is a new one only while both exchanges answer.
   */
  async #fetch(): Promise<void> {
    const minute = await this.#blocks.newest()
    const { newest } = await this.#blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, minute)
    if (newest <= this.#newest) return
    this.#newest = newest
    this.#newAt = this.#context.clock.elapsed()
  }
}
