import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Teardown } from './redis.ts'

/** A program of its own process, and what it prints. */
export interface Program {
  readonly pid: number
  readonly child: ChildProcess
  /** Everything it printed so far, on either stream, line by line. */
  readonly lines: readonly string[]
  /** The first line that satisfies the test, printed already or later. @throws Error when it ends before */
  line(test: (line: string) => boolean): Promise<string>
  /** Resolves with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Sends a signal and waits for the end. Idempotent. @default SIGTERM */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

/**
 * Starts a Node program; SIGKILLed with the test when one is given.
 * @param env exactly its environment, besides PATH
 */
export function startProgram(
  t: Teardown | undefined,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  options: Pick<SpawnOptions, 'cwd' | 'stdio' | 'detached'> = {},
): Program {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  })
  const program = followProgram(child, args[0] ?? 'program')
  t?.teardown(() => program.end('SIGKILL'))
  return program
}

/** Collects what a child prints. @param name for errors */
export function followProgram(child: ChildProcess, name: string): Program {
  const lines: string[] = []
  const looks = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', line => {
      lines.push(line)
      for (const look of looks) look()
    })
  }
  // 'close' follows 'exit' when everything that was printed has been read.
  const ended = once(child, 'close').then(() => child.exitCode ?? (child.signalCode as NodeJS.Signals))
  const line: Program['line'] = test =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.find(test)
        if (found === undefined) return
        looks.delete(look)
        resolve(found)
      }
      looks.add(look)
      look()
      void ended.then(code =>
        reject(new Error(`${name} ended (${code}) before that line:\n${lines.join('\n')}`)),
      )
    })
  const end: Program['end'] = (signal = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return ended
  }
  return { pid: child.pid as number, child, lines, line, ended, end }
}
