import type { Milliseconds } from '@kimchi/core'
import { leaseKey } from './keys.ts'
import type { RedisConnection } from './redis/connect.ts'

/**
 * A claim on a piece of work that several processes could do, so that they don't all do it. It saves effort
 * and is never needed for correctness: it may be lost at any moment, and the work must be safe to do twice.
 * It expires by itself `ttlMs` after its last claim.
 */
export class Lease {
  readonly #redis: RedisConnection
  readonly #key: string
  readonly #id: string
  readonly #ttlMs: Milliseconds

  /** @param id names the holder, as {@link holderId} does; shown to people at redis-cli */
  constructor(redis: RedisConnection, name: string, id: string, ttlMs: Milliseconds) {
    this.#redis = redis
    this.#key = leaseKey(name)
    this.#id = id
    this.#ttlMs = ttlMs
  }

  /** Becomes or stays its holder; false while another process is. */
  async claim(): Promise<boolean> {
    const holder = await this.#redis.call('SET', this.#key, this.#id, 'NX', 'GET', 'PX', this.#ttlMs)
    if (holder === this.#id) await this.#redis.call('PEXPIRE', this.#key, this.#ttlMs)
    return holder === null || holder === this.#id
  }

  /** Gives it back when it is ours. */
  async close(): Promise<void> {
    if ((await this.#redis.call('GET', this.#key)) === this.#id) await this.#redis.call('DEL', this.#key)
  }
}

/**
 * A name that no other process has, e.g. `host:12:k3x9`. Containers on their host's network share its name, and
 * often the process id 1.
 * @param random 0 ≤ random() < 1
 */
export function holderId(hostname: string, pid: number, random: () => number): string {
  const suffix = Math.floor(random() * 36 ** 4).toString(36)
  return `${hostname}:${pid}:${suffix.padStart(4, '0')}`
}
