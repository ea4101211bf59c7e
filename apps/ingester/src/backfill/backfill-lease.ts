import type { Context, Milliseconds } from '@kimchi/core'
import { Lease, type RedisConnection } from '@kimchi/store'

/** The holder of this lease fills all of its coins; there is one lease more for each coin. */
export const BACKFILL_LEASE = 'backfill'

/** Leases are claimed this often, so that a coin stays with one process for as long as that one lives. */
export const CLAIM_EVERY_MS: Milliseconds = 10_000

/** A lease that nobody claims again for this long is free. */
const EXPIRES_AFTER_MS: Milliseconds = 60_000

/** How long the end of a process may wait for Redis to free its leases; they expire by themselves as well. */
const CLOSE_WITHIN_MS: Milliseconds = 500

/**
 * Keeps several ingesters from fetching the same candles; never needed for correctness. The first one claims all
 * of its coins, so that ingesters of the same coins don't divide them and together exceed the exchanges' limits.
 * Each other one claims those of its own that are left.
 */
export class BackfillLease {
  readonly #leaseOf: (name: string) => Lease
  readonly #first: Lease
  #ours: readonly string[] = []
  /** Whether the first one has had time to claim its coins. */
  #hasWaited = false

  /** @param id names the holder; shown to people at redis-cli */
  constructor(redis: RedisConnection, id: string) {
    this.#leaseOf = name => new Lease(redis, name, id, EXPIRES_AFTER_MS)
    this.#first = this.#leaseOf(BACKFILL_LEASE)
  }

  /** Claims these coins, or what is left of them; returns which are ours now. Due every {@link CLAIM_EVERY_MS}. */
  async claim(symbols: readonly string[]): Promise<ReadonlySet<string>> {
    if (await this.#first.claim()) {
      await Promise.all(symbols.map(symbol => this.#ofCoin(symbol).takeOver()))
      this.#ours = symbols
      this.#hasWaited = false
    } else {
      const claims = await Promise.all(symbols.map(symbol => this.#hasWaited && this.#ofCoin(symbol).claim()))
      this.#ours = symbols.filter((_, at) => claims[at])
      this.#hasWaited = true
    }
    return new Set(this.#ours)
  }

  /** Is first from now on; whoever was first before finds out at its next claim. */
  takeOver(): Promise<void> {
    return this.#first.takeOver()
  }

  /** Frees what is ours, so that another ingester goes on at once. Does not reject. */
  async close({ clock, log }: Pick<Context, 'clock' | 'log'>): Promise<void> {
    const closing = [this.#first, ...this.#ours.map(symbol => this.#ofCoin(symbol))].map(lease =>
      lease.close(),
    )
    const closed = new AbortController()
    void Promise.all(closing)
      .catch(thrown => log.debug({ err: thrown }, 'backfill lease not freed, it will expire'))
      .finally(() => closed.abort())
    await clock.wait(CLOSE_WITHIN_MS, closed.signal)
  }

  #ofCoin(symbol: string): Lease {
    return this.#leaseOf(`${BACKFILL_LEASE}:${symbol}`)
  }
}
