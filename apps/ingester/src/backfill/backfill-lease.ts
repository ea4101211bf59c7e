import { createHash } from 'node:crypto'
import type { Coin, Context, Milliseconds } from '@kimchi/core'
import { Lease, type RedisConnection } from '@kimchi/store'

/** A lease is free when its holder has not claimed it again for this long. */
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
  #lease: Lease | undefined

  /** @param id names the holder; shown to people at redis-cli */
  constructor(redis: RedisConnection, id: string, context: Pick<Context, 'clock' | 'log'>) {
    this.#redis = redis
    this.#id = id
    this.#context = context
  }

  /**
   * Claims the lease on these coins while this process is fit to fill them. When it is not, frees the lease, so
   * that another ingester goes on at once.
   * @returns whether this process has the lease
   */
  async hold(coins: readonly Coin[], isFit: boolean): Promise<boolean> {
    if (isFit) {
      // A lease on another list of coins expires by itself.
      this.#lease = new Lease(this.#redis, nameOf(coins), this.#id, EXPIRES_AFTER_MS)
      return this.#lease.claim()
    }
    await this.#lease?.close()
    this.#lease = undefined
    return false
  }

  /** Frees the lease when the process ends. Does not reject. */
  async close(): Promise<void> {
    const { clock, log } = this.#context
    if (this.#lease === undefined) return
    const closed = new AbortController()
    void this.#lease
      .close()
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => closed.abort())
    await clock.wait(CLOSE_WITHIN_MS, closed.signal)
  }
}

function nameOf(coins: readonly Coin[]): string {
  const symbols = coins.map(({ symbol }) => symbol).sort()
  return `backfill:${createHash('sha256').update(symbols.join()).digest('hex').slice(0, 8)}`
}
