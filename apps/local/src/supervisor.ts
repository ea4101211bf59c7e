import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Milliseconds } from '@kimchi/core'
import { type LogRecord, logChild } from './child-log.ts'

/** Wait before a restart; doubles while a process keeps crashing. */
const FIRST_RESTART_MS: Milliseconds = 1_000
const LAST_RESTART_MS: Milliseconds = 30_000
/** A process that has run this long crashed for a new reason. */
const STEADY_AFTER_MS: Milliseconds = 60_000
/** An app ends itself within 4 s of SIGTERM; after this it is killed. */
const KILL_AFTER_MS: Milliseconds = 4_300

/** One Node process of the stack. */
export interface Program {
  readonly name: string
  readonly script: string
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * For this long only its log gets its warnings: while it waits for another process there is nothing to tell a
   * person. @default 0
   */
  readonly calmMs?: Milliseconds
}

/** What a supervisor is opened with. */
export interface SupervisorOptions {
  readonly logDir: string
  readonly say: (line: string) => void
  /** Gets each JSON line that a process logs. */
  readonly onRecord: (record: LogRecord) => void
  /** Called when a process can't be started, or has said that another start would not help. */
  readonly onFailure: () => void
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * The Node processes of one stack: started again when they crash, stopped together. A process that ends
 * before it has listened for the first time, or says over its IPC channel that its failure is final, ends
 * the whole stack.
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #running = new Set<ChildProcess>()
  #isClosing = false

  constructor(options: SupervisorOptions) {
    this.#options = options
    mkdirSync(options.logDir, { recursive: true })
  }

  /** @param hasListened in an earlier run */
  start(program: Program, hasListened = false, crashes = 0): void {
    const { logDir, say, onRecord, onFailure } = this.#options
    const child = spawnProgram(program)
    const startedAt = performance.now()
    let isFinal = false
    this.#running.add(child)
    child.on('message', (message: { final?: boolean }) => {
      hasListened = true
      isFinal ||= message.final === true
    })
    logChild(child, {
      name: program.name,
      dir: logDir,
      onRecord,
      onComplaint: (text, isWarning) => {
        const isCalm = isWarning && performance.now() - startedAt < (program.calmMs ?? 0)
        if (!this.#isClosing && !isCalm) say(`${program.name}: ${text}`)
      },
    })
    child.once('close', (code, signal) => {
      this.#running.delete(child)
      if (this.#isClosing) return
      if (isFinal || (!hasListened && signal === null)) {
        say(`${program.name} could not go on (exit ${code}).`)
        onFailure()
        return
      }
      say(`${program.name} ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
      const isSteady = performance.now() - startedAt > STEADY_AFTER_MS
      void this.#restart(program, hasListened, isSteady ? 0 : crashes)
    })
  }

  /** Ends every process within 5 s. */
  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all([...this.#running].map(child => end(child, this.#options.wait)))
  }

  async #restart(program: Program, hasListened: boolean, crashes: number): Promise<void> {
    await this.#options.wait(Math.min(FIRST_RESTART_MS * 2 ** crashes, LAST_RESTART_MS))
    if (!this.#isClosing) this.start(program, hasListened, crashes + 1)
  }
}

/**
 * Each process leads its own group, so that a Ctrl-C in the terminal reaches only the stack, which then ends
 * them in order. A process notices the end of the stack by its IPC channel.
 */
function spawnProgram({ script, env }: Program): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', script], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

async function end(child: ChildProcess, wait: SupervisorOptions['wait']): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const isLate = await Promise.race([exited.then(() => false), wait(KILL_AFTER_MS).then(() => true)])
  if (!isLate) return
  process.kill(-child.pid, 'SIGKILL')
  await exited
}
