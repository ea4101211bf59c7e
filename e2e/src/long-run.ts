import { parseArgs } from 'node:util'
import type { Teardown } from '@kimchi/testkit'

/**
 * Runs `main`, then tears down what it has left, also after Ctrl-C, and ends this program: with 1 when `main`
 * names a problem or throws, with 2 when the command line is wrong.
 * @param numbers options that must be positive numbers, with their defaults; `seed` must be whole
 */
export async function runLong<Numbers extends Record<string, number> & { seed: number }>(
  usage: string,
  numbers: Numbers,
  main: (run: LongRun<Numbers>) => Promise<readonly string[]>,
): Promise<never> {
  const options = Object.fromEntries(
    [...Object.keys(numbers), 'only'].map(name => [name, { type: 'string' as const }]),
  )
  const { values } = parseArgs({ options })
  const given = Object.fromEntries(
    Object.entries(numbers).map(([name, fallback]) => [name, Number(values[name] ?? fallback)]),
  ) as Numbers
  if (!Object.values(given).every(value => value > 0) || !Number.isInteger(given.seed)) {
    console.error(`usage: ${usage}`)
    process.exit(2)
  }
  const closers: (() => unknown)[] = []
  const closeAll = async () => {
    for (const close of closers.splice(0)) await close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void closeAll().then(() => process.exit(130)))
  }
  const problems = await main({
    ...given,
    only: String(values.only ?? ''),
    random: () => seededRandom(given.seed),
    t: { teardown: close => closers.unshift(close) },
    closeAll,
  }).catch(thrown => [thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)])
  await closeAll()
  for (const problem of problems) console.error(`FAILED: ${problem}`)
  process.exit(problems.length === 0 ? 0 : 1)
}

/** What a long run works with; its numbers are those of the command line. */
export type LongRun<Numbers> = Numbers & {
  /** Only what has this in its name is run. */
  readonly only: string
  /** A new generator from the seed: the same seed brings the same faults at the same moments. */
  readonly random: () => () => number
  readonly t: Teardown
  /** Tears down what there is so far. */
  readonly closeAll: () => Promise<void>
}

/** Numbers 0 ≤ x < 1 that are the same for the same seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
