import { parseArgs } from 'node:util'
import type { Teardown } from '@kimchi/testkit'

/** What a long run works with. */
export interface LongRun {
  /** How much of it is run. */
  readonly amount: number
  readonly seed: number
  /** Only what has this in its name is run. */
  readonly only: string
  /** A new generator from the seed: the same seed brings the same faults at the same moments. */
  readonly random: () => () => number
  readonly t: Teardown
  /** Tears down what there is so far. */
  readonly closeAll: () => Promise<void>
}

/**
 * Runs `main`, then tears down what it has left, also after Ctrl-C, and ends this program: with 1 when `main`
 * names a problem or throws, with 2 when the command line is wrong.
 * @param unit what the amount counts; the option that sets it
 */
export async function runLong(
  unit: 'rounds' | 'minutes',
  defaultAmount: number,
  main: (run: LongRun) => Promise<readonly string[]>,
): Promise<never> {
  const option = (fallback: unknown) => ({ type: 'string', default: String(fallback) }) as const
  const options = { [unit]: option(defaultAmount), seed: option(1), only: option('') }
  const { values } = parseArgs({ options })
  const [amount, seed] = [Number(values[unit]), Number(values.seed)]
  if (!(amount > 0) || !Number.isInteger(seed)) {
    console.error(`usage: [--${unit} ${defaultAmount}] [--seed 1] [--only text]`)
    process.exit(2)
  }
  const closers: (() => unknown)[] = []
  const closeAll = async () => {
    for (const close of closers.splice(0)) await close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void closeAll().then(() => process.exit(130)))
  }
  const t: Teardown = { teardown: close => closers.unshift(close) }
  const run = { amount, seed, only: String(values.only), random: () => seededRandom(seed), t, closeAll }
  const problems = await main(run).catch(thrown => [String(thrown?.stack ?? thrown)])
  await closeAll()
  for (const problem of problems) console.error(`FAILED: ${problem}`)
  process.exit(problems.length === 0 ? 0 : 1)
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
