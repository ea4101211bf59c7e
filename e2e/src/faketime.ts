import { existsSync, openSync, writeSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EpochMs } from '@kimchi/core'

const LIBRARY = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64']
  .map(folder => join(folder, 'faketime/libfaketimeMT.so.1'))
  .find(file => existsSync(file))

/** Why no clock can be stepped here, for a test that is skipped then; false when one can. */
export const lacksFaketime =
  LIBRARY === undefined && 'libfaketime is not installed (apt-get install faketime)'

/** A wall clock that stands still wherever it was set, for a server that is started with this environment. */
export function openSetClock(dir: string) {
  const file = join(dir, 'clock')
  const descriptor = openSync(file, 'w')
  // Always of the same length, and written over what was there: the server never finds half of it.
  const setTime = (at: EpochMs) =>
    writeSync(descriptor, `${new Date(at).toISOString().slice(0, 23).replace('T', ' ')}\n`, 0)
  // Redis' allocator asks for the time before the library is ready for it; the C library's doesn't.
  return { setTime, env: { ...environmentOf(file), LD_PRELOAD: `${LIBRARY} libc.so.6` } }
}

/** A wall clock that can be stepped under a running process. */
export async function openSteppedClock(dir: string) {
  const file = join(dir, 'faketime')
  /** Puts the process's wall clock this far from ours; elapsed time stays steady. */
  const step = (ms: number) => writeFile(file, `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1_000).toFixed(3)}\n`)
  await step(0)
  return {
    step,
    /** What the process has to be started with. */
    env: environmentOf(file),
  }
}

function environmentOf(file: string) {
  return {
    LD_PRELOAD: LIBRARY ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
}
