import { KimchiError, type Milliseconds } from '@kimchi/core'
import closeWithGrace from 'close-with-grace'

/** A started app. */
export interface RunningApp {
  /** Finishes what must not be lost and frees everything. */
  close(): Promise<void>
  /** Rejects when the app can't go on; it is then closed and the process exits 1. */
  readonly failed: Promise<never>
}

/** Longest orderly end; a whole stack has to be gone within 5 s. @see design §8 */
const CLOSE_WITHIN_MS: Milliseconds = 4_000

/**
 * Starts an app and ends it in order: on SIGTERM, SIGINT, a fatal error, or when the parent that holds its IPC channel
 * is gone. A boot error is printed in plain words and exits 1.
 */
export async function runApp(start: () => Promise<RunningApp>): Promise<void> {
  try {
    const app = await start()
    const { close } = closeWithGrace({ delay: CLOSE_WITHIN_MS, logger: false }, async ({ err }) => {
      if (err) process.stderr.write(`${describe(err)}\n`)
      await app.close()
    })
    process.once('disconnect', close)
    app.failed.catch(async thrown => {
      process.stderr.write(`${describe(thrown)}\n`)
      process.exitCode = 1
      await app.close()
      process.exit(1)
    })
  } catch (thrown) {
    process.stderr.write(`${describe(thrown)}\n`)
    process.exit(1)
  }
}

/** Errors made on purpose explain themselves; anything else needs its stack. */
function describe(thrown: unknown): string {
  if (thrown instanceof KimchiError) return `${thrown.code}: ${thrown.message}`
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
