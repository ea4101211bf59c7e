import type { Context, Milliseconds } from '@kimchi/core'
import { Lease, type RedisConnection } from '@kimchi/store'

/** The holder of this lease fills all of its coins; there is one lease more for each coin. */
export const BACKFILL_LEASE = 'backfill'

/** A lease that nobody claims again for this long is free. */
const EXPIRES_AFTER_MS: Milliseconds = 60_000

/** How long an end may wait for Redis to take the leases back; they expire by themselves as well. */
const RELEASE_WITHIN_MS: Milliseconds = 500

/**
 * Keeps several ingesters from fetching the same candles; never needed for correctness. One of them comes
 * first and takes all of its coins, so that ingesters of the same coins don't share them out and ask at twice
 * the rate that the exchanges allow. Another gets those of its own that are left.
 */
export interface BackfillLease {
  /** Takes or prolongs what can be had; returns which of these coins are ours now. Due every 10 s. */
  claim(symbols: readonly string[]): Promise<ReadonlySet<string>>
  /** Comes first from now on; whoever came first before finds out at its next claim. */
  takeOver(): Promise<void>
  /** Gives back what is ours. */
  close(): Promise<void>
}

/** The leases on fetching candles. @param id names the holder; shown to people at redis-cli */
export function openBackfillLease(redis: RedisConnection, id: string): BackfillLease {
  const leaseOf = (name: string) => new Lease(redis, name, id, EXPIRES_AFTER_MS)
  const ofCoin = (symbol: string) => leaseOf(`${BACKFILL_LEASE}:${symbol}`)
  const first = leaseOf(BACKFILL_LEASE)
  let ours: readonly string[] = []
  /** Whether the one that comes first has had the time to take its coins. */
  let hasWaited = false

  const claimLeft = async (symbols: readonly string[]): Promise<readonly string[]> => {
    const claims = await Promise.all(symbols.map(symbol => ofCoin(symbol).claim()))
    return symbols.filter((_, at) => claims[at])
  }
  return {
    claim: async symbols => {
      if (await first.claim()) {
        await Promise.all(symbols.map(symbol => ofCoin(symbol).takeOver()))
        ours = symbols
        hasWaited = false
      } else {
        ours = hasWaited ? await claimLeft(symbols) : []
        hasWaited = true
      }
      return new Set(ours)
    },
    takeOver: () => first.takeOver(),
    close: async () => {
      await Promise.all([first.close(), ...ours.map(symbol => ofCoin(symbol).close())])
    },
  }
}

/** Gives it back, so that another takes over at once. Does not reject: it expires where Redis is away. */
export async function giveBack(
  lease: Pick<BackfillLease, 'close'>,
  { clock, log }: Pick<Context, 'clock' | 'log'>,
): Promise<void> {
  const answered = new AbortController()
  void lease
    .close()
    .catch(thrown => log.debug({ err: thrown }, 'backfill lease not given back, it will expire'))
    .finally(() => answered.abort())
  await clock.wait(RELEASE_WITHIN_MS, answered.signal)
}
