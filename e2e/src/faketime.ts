import { existsSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { EpochMs } from '@kimchi/core'

const LIBRARY = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64']
  .map(folder => join(folder, 'faketime/libfaketimeMT.so.1'))
  .find(file => existsSync(file))

/** Why no clock can be stepped here, for a test that is skipped then; false when one can. */
export const lacksFaketime =
  LIBRARY === undefined && 'libfaketime is not installed (apt-get install faketime)'

/** Where the clock of {@link standingClock} starts. */
const STARTS_AT: EpochMs = Date.parse('2026-01-01')
/** In a millisecond. */
const NANOSECONDS = 1_000_000n

/**
 * A wall clock that stands still wherever it was set, for a server that is started with `env`. It counts nanoseconds
 * since its start in memory that the server shares: Redis asks for the time twice in each command of a script,
 * and to read it from a file would take longer than the command.
 */
export const standingClock = {
  env: {
    // Redis' allocator asks for the time before the library is ready for it; the C library's doesn't.
    LD_PRELOAD: `${LIBRARY} libc.so.6`,
    FAKETIME: '@2026-01-01 00:00:00 i0.000000001',
    TZ: 'UTC',
    // Elapsed time stays steady.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  },
  /** A running server's clock. It may undo a {@link set} while it counts a look of its own: look afterwards. */
  of(pid: number) {
    const shared = openSync(`/dev/shm/faketime_shm_${pid}`, 'r+')
    // A server that is killed would leave the names; it needs none of them any more.
    for (const name of ['faketime_shm', 'sem.faketime_sem'])
      rmSync(`/dev/shm/${name}_${pid}`, { force: true })
    const bytes = Buffer.alloc(8)
    return {
      set: (at: EpochMs) => {
        bytes.writeBigInt64LE(BigInt(at - STARTS_AT) * NANOSECONDS)
        writeSync(shared, bytes, 0, 8, 0)
      },
      /** To the millisecond: each look of the server adds a nanosecond. */
      standsAt: (at: EpochMs) => {
        readSync(shared, bytes, 0, 8, 0)
        return bytes.readBigInt64LE() / NANOSECONDS === BigInt(at - STARTS_AT)
      },
    }
  },
}
