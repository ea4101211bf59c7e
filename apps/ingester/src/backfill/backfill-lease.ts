import type { Context, Milliseconds } from '@kimchi/core'
import { type Lease, openLease, type RedisConnection } from '@kimchi/store'

/** The holder of this lease fetches candles; it is never needed, it only keeps several ingesters from fetching the same ones. */
export const BACKFILL_LEASE = 'backfill'

/** A lease that nobody claims again for this long is free. */
const EXPIRES_AFTER_MS: Milliseconds = 60_000

/** How long an end may wait for Redis to take the lease back; it expires by itself as well. */
const RELEASE_WITHIN_MS: Milliseconds = 500

/** The lease on fetching candles. @param id names the holder; shown to people at redis-cli */
export function openBackfillLease(redis: RedisConnection, id: string): Lease {
  return openLease(redis, BACKFILL_LEASE, id, EXPIRES_AFTER_MS)
}

/** Gives it back, so that another takes over at once. Does not reject: it expires where Redis is away. */
export async function giveBack(lease: Lease, { clock, log }: Pick<Context, 'clock' | 'log'>): Promise<void> {
  const answered = new AbortController()
  void lease
    .close()
    .catch(thrown => log.debug({ err: thrown }, 'backfill lease not given back, it will expire'))
    .finally(() => answered.abort())
  await clock.wait(RELEASE_WITHIN_MS, answered.signal)
}
