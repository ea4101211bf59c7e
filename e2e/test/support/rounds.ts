import t, { type Test } from 'tap'
import { seededRandom } from '../../src/seeded-random.ts'
import { fromMidnight } from '../../src/testbed.ts'

/** What `npm run chaos` asks for. */
const { ROUNDS, SEED = String(Date.now()), ONLY = '' } = process.env

/** A test whose fault comes again and again. */
interface Rounds {
  /** How often under `npm test`; 0 leaves the test to `npm run chaos`. */
  readonly short: number
  /** How often for each 200 rounds of `npm run chaos`. */
  readonly per200: number
  /** What this machine lacks for it. */
  readonly skip?: string | false
}

/** Runs a test in the short form, or in the long one of `npm run chaos`. */
export function inRounds(
  title: string,
  { short, per200, skip = false }: Rounds,
  run: (t: Test, rounds: number, random: () => number) => Promise<unknown>,
): void {
  const rounds = ROUNDS === undefined ? short : Math.max(1, Math.round((Number(ROUNDS) * per200) / 200))
  if (rounds > 0 && title.includes(ONLY)) {
    t.test(`${title}, ${rounds} times`, { skip }, t => {
      t.comment(`seed ${SEED}`)
      return run(t, rounds, seededRandom(Number(SEED)))
    })
  }
}

/** Where the clock of a bed starts: in the long form midnight passes, which costs a second day to fill. */
export function chaosBed() {
  return { startAt: fromMidnight(ROUNDS === undefined ? 10 : -10) }
}
