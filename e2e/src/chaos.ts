import { parseArgs } from 'node:util'
import { SCENARIOS, type Scenario } from './chaos/scenarios.ts'
import { seededRandom } from './random.ts'

const USAGE = 'usage: npm run chaos -- [--rounds 200] [--seed 1] [--only text]'

interface Row {
  readonly scenario: string
  readonly rounds: number
  readonly lost: number | string
  readonly doubled: number | string
  readonly wrong: number | string
  readonly samples: number
  readonly seconds: number
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
  console.error(USAGE)
  process.exit(2)
}
console.log(`seed ${seed}, ${rounds} rounds; the same seed brings the same faults at the same moments`)
const rows: Row[] = []
for (const scenario of SCENARIOS) {
  if (scenario.name.includes(values.only)) rows.push(await runOne(scenario))
}
console.table(rows)
process.exit(rows.some(({ lost, doubled, wrong }) => [lost, doubled, wrong].some(isAmiss)) ? 1 : 0)

async function runOne({ name, per200, run }: Scenario): Promise<Row> {
  const closers: (() => unknown)[] = []
  const giveUp = async () => {
    for (const close of closers) await close()
    process.exit(130)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, giveUp)
  const scaled = Math.max(1, Math.round((rounds * per200) / 200))
  console.log(`${name}, ${scaled} rounds …`)
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000)
  try {
    const verdict = await run({ teardown: close => closers.unshift(close) }, scaled, seededRandom(seed))
    if (verdict === undefined) {
      console.log('  left out: libfaketime is not installed (apt-get install faketime)')
      return {
        scenario: name,
        rounds: 0,
        lost: '-',
        doubled: '-',
        wrong: '-',
        samples: 0,
        seconds: seconds(),
      }
    }
    for (const finding of verdict.findings) console.log(`  ${finding}`)
    const { lost, doubled, wrong, live, candle } = verdict
    return {
      scenario: name,
      rounds: scaled,
      lost,
      doubled,
      wrong,
      samples: live + candle,
      seconds: seconds(),
    }
  } catch (thrown) {
    console.error(thrown)
    return {
      scenario: name,
      rounds: scaled,
      lost: '?',
      doubled: '?',
      wrong: '?',
      samples: 0,
      seconds: seconds(),
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, giveUp)
    for (const close of closers) await close()
  }
}

function isAmiss(count: number | string): boolean {
  return count !== 0 && count !== '-'
}
