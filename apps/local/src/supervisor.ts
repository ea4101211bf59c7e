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
/** Apps cut their own end at 4 s; what is still there shortly after is killed. */
const KILL_AFTER_MS: Milliseconds = 4_300

/** One Node process of the stack. */
export interface Program {
  readonly name: string
  readonly script: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly nodeOptions?: readonly string[]
  /**
   * For how long its warnings go to its log alone: a process that waits for another one has nothing to tell a
   * person yet. @default 0
   */
  readonly calmMs?: Milliseconds
}

/** What a supervisor is opened with. */
export interface SupervisorOptions {
  readonly logDir: string
  readonly say: (line: string) => void
  /** Takes each JSON line that a process logs. */
  readonly onRecord: (record: LogRecord) => void
  /** Called when a process can't be started, or has said that another start would not help. */
  readonly onFailure: () => void
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * The Node processes of one stack: started again when they crash, stopped together. A process that ends
 * before it has listened for the first time, or says over its IPC channel that its failure is final, ends the
 * whole.
 */
export interface Supervisor {
  start(program: Program): void
  /** Ends every process within 5 s. */
  close(): Promise<void>
}

/** Opens a {@link Supervisor} without processes. */
export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { logDir, say, onRecord, onFailure, wait } = options
  const running = new Set<ChildProcess>()
  let isClosing = false
  mkdirSync(logDir, { recursive: true })

  function launch(program: Program, isFirst: boolean, crashes: number): void {
    const child = spawnProgram(program)
    const startedAt = performance.now()
    let hasListened = false
    let isFinal = false
    running.add(child)
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
        if (!isClosing && !isCalm) say(`${program.name}: ${text}`)
      },
    })
    child.once('close', (code, signal) => {
      running.delete(child)
      if (isClosing) return
      if (isFinal || (isFirst && !hasListened && signal === null)) {
        say(`${program.name} could not go on (exit ${code}).`)
        onFailure()
        return
      }
      const isSteady = performance.now() - startedAt > STEADY_AFTER_MS
      void restart(program, signal ?? `exit ${code}`, isFirst && !hasListened, isSteady ? 0 : crashes)
    })
  }

  async function restart(program: Program, ending: string, isFirst: boolean, crashes: number): Promise<void> {
    say(`${program.name} ended unexpectedly (${ending}); starting it again.`)
    await wait(Math.min(FIRST_RESTART_MS * 2 ** crashes, LAST_RESTART_MS))
    if (!isClosing) launch(program, isFirst, crashes + 1)
  }

  return {
    start: program => launch(program, true, 0),
    close: async () => {
      isClosing = true
      await Promise.all([...running].map(child => end(child, wait)))
    },
  }
}

/**
 * Each process leads its own group, so that a Ctrl-C in the terminal reaches only the stack, which then ends
 * them in order; it notices the end of the stack by its IPC channel.
 */
function spawnProgram({ script, env, nodeOptions = [] }: Program): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', ...nodeOptions, script], {
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
