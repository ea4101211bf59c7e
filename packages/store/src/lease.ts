import type { Milliseconds } from '@kimchi/core'
import { leaseKey } from './keys.ts'
import type { RedisConnection } from './redis/connect.ts'

/**
 * A claim on a piece of work that several processes could do, so that they don't all do it. It saves effort
 * and is never needed for correctness: it may be lost at any moment, and the work must be safe to do twice.
 */
export interface Lease {
  /** Becomes or stays its holder; false while another process is. */
  claim(): Promise<boolean>
  /** Becomes its holder in the place of another, which finds out at its next claim. */
  takeOver(): Promise<void>
  /** Gives it back when it is ours. */
  close(): Promise<void>
}

/**
 * A lease that expires by itself `ttlMs` after its last claim.
 * @param id names the holder, as {@link holderId} does; shown to people at redis-cli
 */
export function openLease(redis: RedisConnection, name: string, id: string, ttlMs: Milliseconds): Lease {
  const key = leaseKey(name)
  return {
    claim: async () => {
      if ((await redis.call('SET', key, id, 'NX', 'PX', ttlMs)) === 'OK') return true
      if ((await redis.call('GET', key)) !== id) return false
      await redis.call('PEXPIRE', key, ttlMs)
      return true
    },
    takeOver: async () => {
      await redis.call('SET', key, id, 'PX', ttlMs)
    },
    close: async () => {
      if ((await redis.call('GET', key)) === id) await redis.call('DEL', key)
    },
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
