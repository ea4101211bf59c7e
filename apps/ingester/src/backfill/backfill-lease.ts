import { createHash } from 'node:crypto'
import type { Coin, Context, Milliseconds } from '@kimchi/core'
import type { Lease } from '@kimchi/store'
import type { ExchangeHealth } from './exchange-health.ts'

/** The lease is claimed again after this long. */
const CLAIM_EVERY_MS: Milliseconds = 1_000

/** How long the end of a process may wait for Redis to free the lease; it expires by itself as well. */
const FREE_WITHIN_MS: Milliseconds = 500

/**
 * Keeps ingesters of the same coins from fetching the same candles; never needed for correctness. There is one
 * lease for each list of coins: what two lists have in common may be fetched twice, and is stored once.
 */
export class BackfillLease {
  /** How many coins this ingester has it on; undefined until Redis has answered. */
  filling: number | undefined
  /** Why it could not be claimed the last time. */
  failure: unknown
  /** Whether the exchanges' frames show that our clock is wrong. */
  isClockWrong = false
  readonly #lease: Pick<Lease, 'claim' | 'free'>
  readonly #coins: () => readonly Coin[]
  readonly #health: ExchangeHealth
  readonly #context: Context

  /** @param coins those to fill now */
  constructor(
    lease: Pick<Lease, 'claim' | 'free'>,
    coins: () => readonly Coin[],
    health: ExchangeHealth,
    context: Context,
  ) {
    this.#lease = lease
    this.#coins = coins
    this.#health = health
    this.#context = context
  }

  get isHeld(): boolean {
    return (this.filling ?? 0) > 0
  }

  /** Claims it beside the work, which may take longer than it lasts, until the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    // Started with the first coins: loading ccxt earlier would hold up the streams.
    let watching: Promise<void> | undefined
    while (!signal.aborted) {
      const coins = this.#coins()
      // Every ingester fetches the newest candles, whoever fills the gaps.
      if (coins.length > 0) watching ??= this.#health.run()
      try {
        this.filling = (await this.#claim(coins)) ? coins.length : 0
        this.failure = undefined
      } catch (thrown) {
        this.filling = 0
        this.failure = thrown
      }
      await clock.wait(CLAIM_EVERY_MS, signal)
    }
    await watching
    await this.#free()
  }

  /** Claims the lease, or frees it while this ingester is not fit to fill the coins: another one goes on at once. */
  async #claim(coins: readonly Coin[]): Promise<boolean> {
    if (coins.length > 0 && this.#health.isWell && !this.isClockWrong) return this.#lease.claim(nameOf(coins))
    await this.#lease.free()
    return false
  }

  async #free(): Promise<void> {
    const { clock, log } = this.#context
    const freed = new AbortController()
    void this.#lease
      .free()
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => freed.abort())
    await clock.wait(FREE_WITHIN_MS, freed.signal)
  }
}

function nameOf(coins: readonly Coin[]): string {
  const symbols = coins.map(({ symbol }) => symbol).sort()
  return `backfill:${createHash('sha256').update(symbols.join()).digest('hex').slice(0, 8)}`
}
