import {
  type Clock,
  type EpochMinute,
  type EpochMs,
  type Exchange,
  type Milliseconds,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import type { CandleBlocks } from './candle-blocks.ts'

/** An ingester that fills gaps has seen a new candle of each exchange within this time. */
const NEW_WITHIN_MS: Milliseconds = 90_000

/** The exchanges are asked this often; what is known of a minute costs no request. */
const ASK_EVERY_MS: Milliseconds = 10_000

/**
 * Whether this ingester gets the candles of both exchanges, so that it may hold the lease: one that is banned,
 * refused for its region or cut off leaves the work to another.
 */
export class ExchangeHealth {
  readonly #blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>
  readonly #clock: Pick<Clock, 'now'>
  readonly #seen = new Map<Exchange, { readonly candle: EpochMinute; readonly at: EpochMs }>()
  #askedAt: EpochMs = Number.NEGATIVE_INFINITY

  constructor(blocks: Pick<CandleBlocks, 'newest' | 'blockOf'>, clock: Pick<Clock, 'now'>) {
    this.#blocks = blocks
    this.#clock = clock
  }

  get isWell(): boolean {
    const isNew = ({ at }: { at: EpochMs }) => Math.abs(this.#clock.now() - at) <= NEW_WITHIN_MS
    return this.#seen.size === 2 && [...this.#seen.values()].every(isNew)
  }

  /** Whether it is time to ask again. The clock may step back. */
  get isDue(): boolean {
    return Math.abs(this.#clock.now() - this.#askedAt) >= ASK_EVERY_MS
  }

  /** Asks for the newest candles of the reference markets: one request a minute to each exchange. */
  async ask(): Promise<void> {
    this.#askedAt = this.#clock.now()
    const newest = await this.#blocks.newest()
    this.#see('binance', newest)
    this.#see('upbit', (await this.#blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, newest)).newest)
  }

  #see(exchange: Exchange, candle: EpochMinute): void {
    if (candle !== this.#seen.get(exchange)?.candle)
      this.#seen.set(exchange, { candle, at: this.#clock.now() })
  }
}
