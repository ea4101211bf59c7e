import { setTimeout as delay } from 'node:timers/promises'
import type { SoakStack } from './stack.ts'

/** One thing that goes wrong for a while. Resolves when it is over. */
export interface SoakFault {
  readonly name: string
  run(stack: SoakStack, random: () => number): Promise<void>
}

/** Faults go on and off one after another, with some quiet in between. */
const FAULTS: readonly SoakFault[] = [
  { name: 'Upbit silent', run: silence('upbit', 27) },
  { name: 'Binance silent', run: silence('binance', 13) },
  { name: 'Upbit drops connections', run: drop('upbit') },
  { name: 'Binance drops connections', run: drop('binance') },
  {
    name: 'REST refused with 429',
    run: async ({ bed }) => {
      const undo = bed.exchanges.faults.set({ kind: 'refuse', exchange: 'both', status: 429, on: 'rest' })
      await delay(15_000)
      undo()
    },
  },
  {
    name: 'Redis frozen',
    run: async ({ redis }, random) => {
      redis.pause()
      await delay(1_000 + random() * 4_000)
      redis.resume()
    },
  },
  {
    name: 'Redis killed',
    run: async ({ redis }, random) => {
      await redis.kill()
      await delay(random() * 3_000)
      await redis.restart()
    },
  },
  { name: 'ingester killed', run: ({ restartIngester }) => restartIngester('SIGKILL') },
  { name: 'replica ended and started', run: ({ restartReplica }) => restartReplica('SIGTERM') },
  { name: 'replica killed', run: ({ restartReplica }) => restartReplica('SIGKILL') },
]

const QUIET_MS = 8_000

/** Runs faults in a random order until `signal` aborts; tells each by name. */
export async function runFaults(
  stack: SoakStack,
  random: () => number,
  signal: AbortSignal,
  onFault: (name: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    for (const fault of shuffled(FAULTS, random)) {
      await delay(QUIET_MS + random() * QUIET_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      onFault(fault.name)
      await fault.run(stack, random)
    }
  }
}

function silence(exchange: 'upbit' | 'binance', longestSeconds: number): SoakFault['run'] {
  return async ({ bed }, random) => {
    const undo = bed.exchanges.faults.set({ kind: 'silence', exchange })
    await delay((1 + random() * (longestSeconds - 1)) * 1_000)
    undo()
  }
}

function drop(exchange: 'upbit' | 'binance'): SoakFault['run'] {
  return async ({ bed }) => {
    bed.exchanges.faults.set({ kind: 'drop', exchange })
  }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map(item => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
