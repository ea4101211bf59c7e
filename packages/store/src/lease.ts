import type { Milliseconds } from '@kimchi/core'
import { leaseKey } from './keys.ts'
import type { RedisConnection } from './redis/connect.ts'

/** A lease is free when its holder has not claimed it again for this long. */
export const LEASE_EXPIRES_AFTER_MS: Milliseconds = 60_000

/**
 * A claim on work that several processes could do, so that they don't all do it. It saves effort and is never
 * needed for correctness: it may be lost at any moment, and the work must be safe to do twice.
 */
export class Lease {
  readonly #redis: RedisConnection
  readonly #id: string
  /** The key of what was claimed last and has not been freed. */
  #key: string | undefined

  /** @param id names the holder, as {@link holderId} does; shown to people at redis-cli */
  constructor(redis: RedisConnection, id: string) {
    this.#redis = redis
    this.#id = id
  }

  /**
   * Becomes or stays the holder of the work of this name; false while another process is. A lease on other work
   * that was claimed before expires by itself.
   */
  async claim(work: string): Promise<boolean> {
    const key = leaseKey(work)
    this.#key = key
    const holder = await this.#redis.call('SET', key, this.#id, 'NX', 'GET', 'PX', LEASE_EXPIRES_AFTER_MS)
    if (holder === this.#id) await this.#redis.call('PEXPIRE', key, LEASE_EXPIRES_AFTER_MS)
    return holder === null || holder === this.#id
  }

  /** Lets another process claim it at once. Where nothing was claimed, asks nothing of Redis. */
  async free(): Promise<void> {
    if (this.#key === undefined) return
    if ((await this.#redis.call('GET', this.#key)) === this.#id) await this.#redis.call('DEL', this.#key)
    this.#key = undefined
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
