import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Milliseconds } from '@kimchi/core'

export type Outcome = 'passed' | 'failed' | 'timed out'

/** How a Node program ends within a time; then, or at a signal, all that it has started ends too. */
export async function runWithin(
  withinMs: Milliseconds,
  signal: AbortSignal,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): Promise<Outcome> {
  signal.throwIfAborted()
  const late = AbortSignal.timeout(withinMs)
  const over = AbortSignal.any([signal, late])
  const child = spawn(process.execPath, args, { ...options, stdio: 'ignore', detached: true })
  const end = () => {
    try {
      // Detached, it leads a group.
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // All of the group has ended.
    }
  }
  over.addEventListener('abort', end)
  const [status] = await once(child, 'exit')
  over.removeEventListener('abort', end)
  end()
  signal.throwIfAborted()
  return late.aborted ? 'timed out' : status === 0 ? 'passed' : 'failed'
}
