import { createHash } from 'node:crypto'
import type { Coin, Context, EpochMs, Milliseconds } from '@kimchi/core'
import { Lease, type RedisConnection } from '@kimchi/store'

/** Leases are claimed this often, so that the coins stay with one process for as long as that one lives. */
const CLAIM_EVERY_MS: Milliseconds = 10_000

/** A lease that nobody claims again for this long is free. */
const EXPIRES_AFTER_MS: Milliseconds = 60_000

/** How long the end of a process may wait for Redis to free its lease; it expires by itself as well. */
const CLOSE_WITHIN_MS: Milliseconds = 500

/**
 * Keeps ingesters of the same coins from fetching the same candles; never needed for correctness. There is one
 * lease for each list of coins: what two lists have in common may be fetched twice, and is stored once.
 */
export class BackfillLease {
  readonly #redis: RedisConnection
  readonly #id: string
  readonly #context: Pick<Context, 'clock' | 'log'>
  #name = ''
  #lease: Lease | undefined
  #isHeld = false
  #claimedAt: EpochMs = Number.NEGATIVE_INFINITY

  /** @param id names the holder; shown to people at redis-cli */
  constructor(redis: RedisConnection, id: string, context: Pick<Context, 'clock' | 'log'>) {
    this.#redis = redis
    this.#id = id
    this.#context = context
  }

  /**
   * Whether this process has the lease on these coins. While it is fit to fill them it claims the lease every
   * 10 s; when it is not, it frees the lease, so that another ingester goes on at once.
   */
  async hold(coins: readonly Coin[], isFit: boolean): Promise<boolean> {
    const now = this.#context.clock.now()
    if (!isFit) {
      if (this.#isHeld) await this.#lease?.close()
      this.#isHeld = false
      this.#claimedAt = Number.NEGATIVE_INFINITY
    } else if (Math.abs(now - this.#claimedAt) >= CLAIM_EVERY_MS) {
      // Absolute, because the clock may have stepped back.
      this.#isHeld = await this.#claim(coins)
      this.#claimedAt = now
    }
    return this.#isHeld
  }

  async #claim(coins: readonly Coin[]): Promise<boolean> {
    const symbols = coins.map(({ symbol }) => symbol).sort()
    const list = createHash('sha256').update(symbols.join()).digest('hex').slice(0, 8)
    const name = `backfill:${list}`
    if (name !== this.#name) {
      await this.#lease?.close()
      this.#name = name
      this.#lease = new Lease(this.#redis, name, this.#id, EXPIRES_AFTER_MS)
    }
    return this.#lease?.claim() ?? false
  }

  /** Frees it when the process ends. Does not reject. */
  async close(): Promise<void> {
    const { clock, log } = this.#context
    const closed = new AbortController()
    void (this.#lease?.close() ?? Promise.resolve())
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => closed.abort())
    await clock.wait(CLOSE_WITHIN_MS, closed.signal)
  }
}
