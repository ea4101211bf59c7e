import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Teardown } from './teardown.ts'

/** A program in a process of its own, and what it prints. */
export type Program = ReturnType<typeof followProgram>

/**
 * Starts a Node program; SIGKILLed with the test when one is given.
 * @param env exactly its environment, besides PATH
 */
export function startProgram(
  t: Teardown | undefined,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  options: Pick<SpawnOptions, 'cwd' | 'stdio'> = {},
) {
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
export function followProgram(child: ChildProcess, name: string) {
  const lines: string[] = []
  const printed = new EventEmitter().setMaxListeners(0)
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', line => {
      lines.push(line)
      printed.emit('line')
    })
  }
  // 'close' follows 'exit' when everything that was printed has been read.
  const ended = once(child, 'close').then(() => child.exitCode ?? (child.signalCode as NodeJS.Signals))
  return {
    pid: child.pid as number,
    child,
    /** Everything it printed so far, on either stream, line by line. */
    lines: lines as readonly string[],
    /** The first line that satisfies the test, printed already or later. @throws Error when it ends before */
    async line(test: (line: string) => boolean): Promise<string> {
      for (;;) {
        const found = lines.find(test)
        if (found !== undefined) return found
        const code = await Promise.race([once(printed, 'line').then(() => undefined), ended])
        if (code !== undefined && !lines.some(test))
          throw new Error(`${name} ended (${code}) before that line:\n${lines.join('\n')}`)
      }
    },
    /** Resolves with its exit code, or the signal that ended it. */
    ended,
    /** Sends a signal and waits for the end. Idempotent. */
    end(signal: NodeJS.Signals = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      return ended
    },
  }
}
