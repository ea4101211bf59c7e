import { type Context, type EpochMinute, type Milliseconds, REFERENCE_MARKETS } from '@kimchi/core'
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
  /** Why the last candles could not be fetched. */
  failure: unknown
  readonly #blocks: CandleBlocks
  readonly #context: Pick<Context, 'clock' | 'signal'>
  #newest: EpochMinute = Number.NEGATIVE_INFINITY
  /** When that candle was new, by the clock's elapsed time. */
  #newAt: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(blocks: CandleBlocks, context: Pick<Context, 'clock' | 'signal'>) {
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
