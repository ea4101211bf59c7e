import { setTimeout as delay } from 'node:timers/promises'
import type { Exchange } from '@kimchi/simulator'
import type { SoakStack } from './stack.ts'

/** Lets one thing go wrong for a while; resolves when it is over. */
type SoakFault = (stack: SoakStack, random: () => number) => Promise<unknown>

/** Upbit's feed may be silent for 30 s, Binance's for 15 s, before it is replaced. */
const FAULTS: Readonly<Record<string, SoakFault>> = {
  'Upbit silent': silence('upbit', 27),
  'Binance silent': silence('binance', 13),
  'Upbit drops connections': drop('upbit'),
  'Binance drops connections': drop('binance'),
  'REST refused with 429': async ({ bed }) => {
    const undo = bed.exchanges.faults.set({ kind: 'refuse', exchange: 'both', status: 429, on: 'rest' })
    await delay(15_000)
    undo()
  },
  'Redis frozen': ({ redis }, random) => redis.freezeFor(1_000 + random() * 4_000),
  'Redis killed': ({ redis }, random) => redis.killFor(random() * 3_000),
  'ingester killed': ({ restartIngester }) => restartIngester('SIGKILL'),
  'replica ended and started': ({ restartReplica }) => restartReplica('SIGTERM'),
  'replica killed': ({ restartReplica }) => restartReplica('SIGKILL'),
}

const QUIET_MS = 8_000

/** Runs one fault after another in a random order, with some quiet in between, until `signal` aborts. */
export async function runFaults(
  stack: SoakStack,
  random: () => number,
  signal: AbortSignal,
  onFault: (name: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    const turns = new Map(Object.keys(FAULTS).map(name => [name, random()]))
    for (const [name] of [...turns].sort(([, a], [, b]) => a - b)) {
      await delay(QUIET_MS + random() * QUIET_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      onFault(name)
      await FAULTS[name]?.(stack, random)
    }
  }
}

function silence(exchange: Exchange, longestSeconds: number): SoakFault {
  return async ({ bed }, random) => {
    const undo = bed.exchanges.faults.set({ kind: 'silence', exchange })
    await delay((1 + random() * (longestSeconds - 1)) * 1_000)
    undo()
  }
}

function drop(exchange: Exchange): SoakFault {
  return async ({ bed }) => bed.exchanges.faults.set({ kind: 'drop', exchange })
}
