import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What is used of a tap test: what to do when it is over, the newest first. */
export interface Teardown {
  teardown(close: () => unknown): void
}

/**
 * Creates a temporary folder, removed with the test. Shorter than `t.testdir()`, which a Unix socket's path
 * can't hold.
 */
export async function createFolder(t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kimchi-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}
