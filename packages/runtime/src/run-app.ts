import { KimchiError, type Milliseconds } from '@kimchi/core'

export interface RunningApp {
  /** Finishes what must not be lost and frees everything. */
  close(): Promise<void>
  /** Rejects when the app can't go on; it is then closed and the process exits 1. */
  readonly failed: Promise<never>
}

/** How long an orderly end may take: a whole stack must end within 5 s. */
const CLOSE_WITHIN_MS: Milliseconds = 4_000

/** Ctrl-C reaches every process of a terminal, and a parent may pass it on: the second must not cut the end short. */
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Starts an app and ends it in order: on SIGTERM, SIGINT, SIGHUP, a fatal error, or when the parent that
 * holds its IPC channel is gone. A boot error is printed in plain words and exits 1; so do a failed app,
 * after it was closed, and a close that fails or takes longer than 4 s. A parent with an IPC channel is told
 * `{ started: true }`, and `{ final: true }` when the app failed for a reason that another start would meet
 * again.
 */
export async function runApp(start: () => Promise<RunningApp>): Promise<void> {
  try {
    endInOrder(await start())
    tellParent({ started: true })
  } catch (thrown) {
    complain(thrown)
    process.exit(1)
  }
}

function endInOrder(app: RunningApp): void {
  let isEnding = false
  const end = async (): Promise<void> => {
    if (isEnding) return
    isEnding = true
    setTimeout(giveUp, CLOSE_WITHIN_MS)
    await app.close().catch(fail)
    process.exit()
  }
  const fail = (thrown: unknown): void => {
    complain(thrown)
    process.exitCode = 1
    void end()
  }
  for (const signal of END_SIGNALS) process.on(signal, end)
  process.on('uncaughtException', fail)
  process.once('disconnect', end)
  if (process.send && !process.connected) void end() // the parent went during the start
  app.failed.catch(thrown => {
    tellParent({ final: true })
    fail(thrown)
  })
}

function giveUp(): void {
  complain(`not closed within ${CLOSE_WITHIN_MS} ms, giving up`)
  process.exit(1)
}

/** From this a supervisor can tell a failed start from a later crash. */
function tellParent(message: { readonly started: true } | { readonly final: true }): void {
  // A parent that goes meanwhile hears nothing more, and that is no failure.
  if (process.connected) process.send?.(message, () => {})
}

function complain(thrown: unknown): void {
  process.stderr.write(`${describe(thrown)}\n`)
}

/** Errors made on purpose explain themselves; anything else needs its stack. */
function describe(thrown: unknown): string {
  if (thrown instanceof KimchiError) return `${thrown.code}: ${thrown.message}`
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
