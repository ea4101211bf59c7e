import type { Milliseconds } from '@kimchi/core'
import { leaseKey } from './keys.ts'
import type { RedisConnection } from './redis/connect.ts'

/**
 * A claim on a piece of work that several processes could do, so that they don't all do it. It saves effort
 * and is never needed for correctness: it may be lost at any moment, and the work must be safe to do twice.
 */
export interface Lease {
  /** Takes the lease, or prolongs it when it is ours already; false while another process holds it. */
  claim(): Promise<boolean>
  /** Takes the lease from its holder, which finds out at its next claim. */
  take(): Promise<void>
  /** Gives it back when it is ours. */
  close(): Promise<void>
}

/**
 * A lease that expires by itself `ttlMs` after its last claim.
 * @param id names the holder; shown to people at redis-cli
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
    take: async () => {
      await redis.call('SET', key, id, 'PX', ttlMs)
    },
    close: async () => {
      if ((await redis.call('GET', key)) === id) await redis.call('DEL', key)
    },
  }
}
