import { createHash } from 'node:crypto'
import type { Context, Milliseconds } from '@kimchi/core'
import { Lease, type RedisConnection } from '@kimchi/store'

/** Leases are claimed this often, so that the coins stay with one process for as long as that one lives. */
export const CLAIM_EVERY_MS: Milliseconds = 10_000

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
  #name = ''
  #lease: Lease | undefined

  /** @param id names the holder; shown to people at redis-cli */
  constructor(redis: RedisConnection, id: string) {
    this.#redis = redis
    this.#id = id
  }

  /** Gets or renews the lease on these coins; false while another process has it. Due every {@link CLAIM_EVERY_MS}. */
  async claim(symbols: readonly string[]): Promise<boolean> {
    const list = createHash('sha256').update(symbols.toSorted().join()).digest('hex').slice(0, 8)
    const name = `backfill:${list}`
    if (name !== this.#name) {
      await this.release()
      this.#name = name
      this.#lease = new Lease(this.#redis, name, this.#id, EXPIRES_AFTER_MS)
    }
    return this.#lease?.claim() ?? false
  }

  /** Frees it, so that another ingester goes on at once. */
  async release(): Promise<void> {
    await this.#lease?.close()
  }

  /** The same when the process ends. Does not reject. */
  async close({ clock, log }: Pick<Context, 'clock' | 'log'>): Promise<void> {
    const closed = new AbortController()
    void this.release()
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => closed.abort())
    await clock.wait(CLOSE_WITHIN_MS, closed.signal)
  }
}
