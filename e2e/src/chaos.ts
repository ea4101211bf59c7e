import { type LongRun, runLong } from './long-run.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

const NOTHING = { lost: '-', doubled: '-', wrong: '-', samples: 0 }

await runLong(
  'npm run chaos -- [--rounds 200] [--seed 1] [--only text]',
  { rounds: 200, seed: 1 },
  async run => {
    console.log(`seed ${run.seed}, ${run.rounds} rounds; the same seed brings the same faults`)
    const rows: Row[] = []
    for (const scenario of SCENARIOS) {
      if (scenario.name.includes(run.only)) rows.push(await runScenario(scenario, run))
    }
    console.table(rows)
    return rows.flatMap(row => (row.problem === '' ? [] : [`${row.scenario}: ${row.problem}`]))
  },
)

type Row = Awaited<ReturnType<typeof runScenario>>

/** One row of the table; a machine that lacks what the scenario needs leaves it out. */
async function runScenario(
  { name, per200, run }: Scenario,
  { rounds, random, t, closeAll }: LongRun<{ rounds: number }>,
) {
  const scaled = Math.max(1, Math.round((rounds * per200) / 200))
  console.log(`${name}, ${scaled} rounds …`)
  const startedAt = performance.now()
  const row = await run(t, scaled, random())
    .then(verdict => {
      if (verdict === undefined) return { ...NOTHING, problem: '', leftOut: 'libfaketime is not installed' }
      for (const finding of verdict.findings) console.log(`  ${finding}`)
      const { lost, doubled, wrong, live, candle } = verdict
      const problem = lost + doubled + wrong > 0 ? 'samples lost, doubled or wrong' : ''
      return { lost, doubled, wrong, samples: live + candle, problem }
    })
    .catch(thrown => ({ ...NOTHING, problem: String(thrown) }))
  await closeAll()
  return {
    scenario: name,
    rounds: scaled,
    ...row,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  }
}
