import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A real process of one of the apps, or of the simulator, as an operator would start it. */
export interface AppProcess {
  readonly pid: number
  /** Everything it printed so far, line by line. */
  readonly lines: readonly string[]
  /** The first line that satisfies the test, printed already or later. */
  line(test: (line: string) => boolean): Promise<string>
  /** Sends a signal and waits for the end. Idempotent. */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
  signal(signal: NodeJS.Signals): void
}

const SCRIPTS = {
  simulator: '../../packages/simulator/dist/main.js',
  ingester: '../../apps/ingester/dist/main.js',
  api: '../../apps/api/dist/main.js',
}

/** Starts an app with exactly this environment, plus PATH. Kill it in a teardown. */
export function startProcess(app: keyof typeof SCRIPTS, env: Record<string, string>): AppProcess {
  const script = fileURLToPath(new URL(SCRIPTS[app], import.meta.url))
  const child = spawn(process.execPath, ['--enable-source-maps', script], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return follow(child, app)
}

/** Collects what a child prints. */
export function follow(child: ChildProcess, app: string): AppProcess {
  const lines: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', line => {
      lines.push(line)
      for (const look of waiting) look()
    })
  }
  return {
    pid: child.pid as number,
    lines,
    line: test => firstLine(child, app, lines, waiting, test),
    end: (signal = 'SIGTERM') => end(child, signal),
    signal: signal => void child.kill(signal),
  }
}

function firstLine(
  child: ChildProcess,
  app: string,
  lines: readonly string[],
  waiting: Set<() => void>,
  test: (line: string) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = lines.find(test)
      if (found === undefined) return
      waiting.delete(look)
      child.off('exit', giveUp)
      resolve(found)
    }
    const giveUp = (code: number | null) =>
      reject(new Error(`${app} ended (${code}) before that line:\n${lines.join('\n')}`))
    child.once('exit', giveUp)
    waiting.add(look)
    look()
  })
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return child.exitCode ?? (child.signalCode as NodeJS.Signals)
}
