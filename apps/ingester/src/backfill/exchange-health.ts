import {
  type Clock,
  type EpochMinute,
  type Exchange,
  type Milliseconds,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandleBlocks } from './candle-blocks.ts'

/** An ingester that fills gaps has seen a new candle of each exchange within this time. */
const NEW_WITHIN_MS: Milliseconds = 90_000

/** The exchanges are asked this often; what is known of a minute costs no request. */
const ASK_EVERY_MS: Milliseconds = 10_000

const NEVER = { candle: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY }

/**
 * Whether this ingester gets the candles of both exchanges, so that it may hold the lease: one that is banned,
 * refused for its region or cut off leaves the work to another.
 */
export class ExchangeHealth {
  readonly #blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>
  readonly #clock: Clock
  /** The newest candles, and when they were new, by the clock's elapsed time. */
  readonly #seen: Record<Exchange, typeof NEVER> = { upbit: NEVER, binance: NEVER }
  #askedAt: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>, clock: Clock) {
    this.#blocks = blocks
    this.#clock = clock
  }

  get isWell(): boolean {
    const now = this.#clock.elapsed()
    return Object.values(this.#seen).every(({ at }) => now - at <= NEW_WITHIN_MS)
  }

  /** Whether it is time to ask again. */
  get isDue(): boolean {
    return this.#clock.elapsed() - this.#askedAt >= ASK_EVERY_MS
  }

  /** Fetches the newest candles of the reference markets: one request a minute to each exchange. */
  async ask(): Promise<void> {
    this.#askedAt = this.#clock.elapsed()
    const newest = await this.#blocks.newest()
    this.#see('binance', newest)
    this.#see('upbit', (await this.#blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, newest)).newest)
  }

  #see(exchange: Exchange, candle: EpochMinute): void {
    if (candle !== this.#seen[exchange].candle) this.#seen[exchange] = { candle, at: this.#clock.elapsed() }
  }
}
