import { setTimeout as delay } from 'node:timers/promises'
import { type LongRun, runLong } from './long-run.ts'
import { runFaults } from './soak/faults.ts'
import { openLoad } from './soak/load.ts'
import { appUse, growthOf, type Reading, redisUse, tableOf } from './soak/report.ts'
import { openSoakStack } from './soak/stack.ts'

const READ_EVERY_MS = 5_000

await runLong('npm run soak -- [--minutes 30] [--seed 1]', { minutes: 30, seed: 1 }, soak)

async function soak(run: LongRun<{ minutes: number; seed: number }>): Promise<readonly string[]> {
  const { minutes, seed, t } = run
  const random = run.random()
  const stack = await openSoakStack(t)
  console.log(`${minutes} minutes of faults and load, seed ${seed}`)
  if (!stack.hasEdge)
    console.log('nginx is not installed (apt-get install nginx-light): the load goes to one replica')
  const load = openLoad(stack.port, stack.bed.coins, random)
  t.teardown(load.close)
  const ending = new AbortController()
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const faults = runFaults(stack, random, ending.signal, name =>
    console.log(`${minute().toFixed(1)} min  ${name}`),
  )
  const readings: Reading[] = []
  while (minute() < minutes) {
    await delay(READ_EVERY_MS)
    const { requests, failed } = load.counts
    const used = [
      appUse('ingester', stack.opsPorts.ingester),
      appUse('API', stack.opsPorts.api),
      redisUse(stack.raw),
    ]
    readings.push(Object.assign({ requests, failed }, ...(await Promise.all(used))))
  }
  ending.abort()
  await faults
  await load.close()
  const { failed, failures } = load.counts
  const verdict = await stack.bed.settle()
  console.table(tableOf(readings))
  const { lost, doubled, wrong, live, candle, findings } = verdict
  console.log(
    `audit: ${live} live and ${candle} candle samples, ${lost} lost, ${doubled} doubled, ${wrong} wrong`,
  )
  return [
    ...(failed > 0 ? [`${failed} requests failed, such as ${failures.join('; ')}`] : []),
    ...findings,
    ...growthOf(readings, minutes),
  ]
}
