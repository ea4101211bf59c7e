import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** What is used of a tap test: what to do when it is over, the newest first. */
export interface Teardown {
  teardown(close: () => unknown): void
}

/** Runs what is no test, and ends what it has started: when it is over, or at a signal, with which the process ends. */
export async function withTeardown<T>(run: (t: Teardown) => Promise<T>): Promise<T> {
  const closers: (() => unknown)[] = []
  let closing: Promise<void> | undefined
  const closeAll = () => (closing ??= closeEach(closers))
  const onSignal = () => void closeAll().then(() => process.exit(130))
  for (const signal of SIGNALS) process.once(signal, onSignal)
  try {
    return await run({ teardown: close => closers.unshift(close) })
  } finally {
    await closeAll()
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

async function closeEach(closers: readonly (() => unknown)[]): Promise<void> {
  for (const close of closers) await close()
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
