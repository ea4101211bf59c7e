import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A wall clock that can be stepped under a running process. */
export interface SteppedClock {
  /** What the process has to be started with. */
  readonly env: Record<string, string>
  /** Puts the process's wall clock this far from ours; elapsed time stays steady. */
  step(ms: number): Promise<void>
}

/** Uses libfaketime where it is installed (`apt-get install faketime`); undefined where it is not. */
export async function openSteppedClock(dir: string): Promise<SteppedClock | undefined> {
  const library = findLibrary()
  if (library === undefined) return undefined
  const file = join(dir, 'faketime')
  const step = (ms: number) => writeFile(file, `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1_000).toFixed(3)}\n`)
  await step(0)
  return {
    step,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  }
}

function findLibrary(): string | undefined {
  for (const folder of ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64']) {
    try {
      if (readdirSync(join(folder, 'faketime')).includes('libfaketimeMT.so.1')) {
        return join(folder, 'faketime', 'libfaketimeMT.so.1')
      }
    } catch {
      // Not on this system.
    }
  }
  return undefined
}
