import { type LongRun, runLong } from './long-run.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

await runLong('rounds', 200, async run => {
  console.log(`seed ${run.seed}, ${run.amount} rounds; the same seed brings the same faults`)
  const rows: Row[] = []
  for (const scenario of SCENARIOS.filter(({ name }) => name.includes(run.only))) {
    if (scenario.lacks) console.log(`${scenario.name} is left out: ${scenario.lacks}`)
    else rows.push(await runScenario(scenario, run))
  }
  console.table(rows)
  return rows.flatMap(({ scenario, problem }) => (problem === '' ? [] : [`${scenario}: ${problem}`]))
})

type Row = Awaited<ReturnType<typeof runScenario>>

/** One row of the table. */
async function runScenario({ name, per200, run }: Scenario, { amount, random, t, closeAll }: LongRun) {
  const rounds = Math.max(1, Math.round((amount * per200) / 200))
  console.log(`${name}, ${rounds} rounds …`)
  const startedAt = performance.now()
  const outcome = await run(t, rounds, random())
    .then(({ lost, doubled, wrong, live, candle, findings }) => {
      for (const finding of findings) console.log(`  ${finding}`)
      const problem = lost + doubled + wrong > 0 ? 'samples lost, doubled or wrong' : ''
      return { lost, doubled, wrong, samples: live + candle, problem }
    })
    .catch(thrown => ({ lost: '-', doubled: '-', wrong: '-', samples: 0, problem: String(thrown) }))
  await closeAll()
  return { scenario: name, rounds, ...outcome, seconds: Math.round((performance.now() - startedAt) / 1_000) }
}
