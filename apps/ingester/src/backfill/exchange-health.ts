import { type Clock, type EpochMinute, type Milliseconds, REFERENCE_MARKETS } from '@kimchi/core'
import type { CandleBlocks } from './candle-blocks.ts'

/** An ingester that fills gaps has seen a new candle of each exchange within this time. */
const NEW_WITHIN_MS: Milliseconds = 90_000

/** Candles are fetched this often; what is known of a minute costs no request. */
const FETCH_EVERY_MS: Milliseconds = 10_000

/**
 * Whether this ingester gets the candles of both exchanges, so that it may hold the lease: one that is banned,
 * refused for its region or cut off leaves the work to another.
 */
export class ExchangeHealth {
  readonly #blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>
  readonly #clock: Clock
  #newest: EpochMinute = Number.NEGATIVE_INFINITY
  /** When that candle was new, and when candles were fetched last, by the clock's elapsed time. */
  #newAt: Milliseconds = Number.NEGATIVE_INFINITY
  #fetchedAt: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>, clock: Clock) {
    this.#blocks = blocks
    this.#clock = clock
  }

  get isWell(): boolean {
    return this.#clock.elapsed() - this.#newAt <= NEW_WITHIN_MS
  }

  /** Whether it is time to fetch again. */
  get isDue(): boolean {
    return this.#clock.elapsed() - this.#fetchedAt >= FETCH_EVERY_MS
  }

  /**
   * Fetches the newest candles of the reference markets: one request a minute to each exchange. Upbit's are
   * fetched up to Binance's newest minute, so there is a new one only while both exchanges answer.
   */
  async fetch(): Promise<void> {
    this.#fetchedAt = this.#clock.elapsed()
    const minute = await this.#blocks.newest()
    const { newest } = await this.#blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, minute)
    if (newest <= this.#newest) return
    this.#newest = newest
    this.#newAt = this.#clock.elapsed()
  }
}
