import { type Coin, type Context, type EpochMinute, type Milliseconds, minuteOf } from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import { CANDLE_GRACE_MS, type CandleBlocks } from './candle-blocks.ts'
import { type Decided, decideWindow, NOTHING } from './decide-minutes.ts'

/** A first list waits for this much longer than its requests need by their pace. */
const PATIENCE_MS: Milliseconds = 5_000

/** What a first list is made from. */
export interface FirstListOptions {
  readonly reader: Pick<SampleReader, 'readOpenMinutes'>
  readonly blocks: CandleBlocks
  readonly upbitPerSecond: number
}

/** Lists new coins at once, and those that are not tested yet every minute until they are. */
export class FirstList {
  readonly #options: FirstListOptions
  readonly #context: Pick<Context, 'clock' | 'signal'>
  /** The newest minute of a coin when it was listed last. */
  readonly #listed = new Map<string, EpochMinute>()

  constructor(options: FirstListOptions, context: Pick<Context, 'clock' | 'signal'>) {
    this.#options = options
    this.#context = context
  }

  /** The coins whose newest minute should be stored now. */
  due(tracked: readonly Coin[], untested: readonly Coin[]): readonly Coin[] {
    const minute = this.#newest()
    return [
      ...tracked.filter(({ symbol }) => !this.#listed.has(symbol)),
      ...untested.filter(({ symbol }) => this.#listed.get(symbol) !== minute),
    ]
  }

  /** Stores the newest minute of these coins in one write; one whose candle doesn't come holds up nobody. */
  async run(coins: readonly Coin[], store: (decided: Decided) => Promise<void>): Promise<void> {
    const listed = this.#newest()
    const minute = await this.#options.blocks.newest()
    const { clock, signal } = this.#context
    const byPaceMs = (coins.length * 1_000) / this.#options.upbitPerSecond
    const late = clock.wait(byPaceMs + PATIENCE_MS, signal).then(() => NOTHING)
    const decided = await Promise.all(coins.map(coin => Promise.race([this.#decide(coin, minute), late])))
    const samples = decided.flatMap(each => each.samples)
    await store({ samples, settled: decided.flatMap(each => each.settled), open: [] })
    for (const { symbol } of coins) this.#listed.set(symbol, listed)
  }

  async #decide(coin: Coin, minute: EpochMinute): Promise<Decided> {
    const { reader, blocks } = this.#options
    const [open] = await reader.readOpenMinutes(coin.symbol, minute, minute + 1)
    if (open === undefined) return NOTHING
    // A failure is reported when the coin is filled.
    return decideWindow({ coin, minutes: [minute] }, blocks).catch(() => NOTHING)
  }

  #newest(): EpochMinute {
    return minuteOf(this.#context.clock.now() - CANDLE_GRACE_MS)
  }
}
