import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Teardown } from '@kimchi/testkit'

/** What a measurement starts ends with it. */
export interface Stage extends Teardown {
  /** A temporary folder. */
  readonly dir: string
}

/** Runs a measurement, and ends what it has started, the newest first. */
export async function onStage<T>(measure: (stage: Stage) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-bench-'))
  const closing: (() => unknown)[] = [() => rm(dir, { recursive: true, force: true })]
  try {
    return await measure({ dir, teardown: close => closing.push(close) })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}
