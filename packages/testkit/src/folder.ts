import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Teardown } from './redis.ts'

/**
 * A temporary folder, removed with the test. Shorter than `t.testdir()`, which a Unix socket's path can't
 * hold.
 */
export async function createFolder(t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kimchi-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}
