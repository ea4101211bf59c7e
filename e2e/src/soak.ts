import { setTimeout as delay } from 'node:timers/promises'
import { type LongRun, runLong } from './long-run.ts'
import { runFaults } from './soak/faults.ts'
import { openLoad } from './soak/load.ts'
import { processUse, redisUse } from './soak/probe.ts'
import { growthOf, type Reading, tableOf } from './soak/report.ts'
import { openSoakStack, type SoakStack } from './soak/stack.ts'

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
    readings.push({ minute: minute(), requests, failed, ...(await use(stack)) })
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
    ...growthOf(readings),
  ]
}

async function use({ steady, raw }: SoakStack): Promise<Pick<Reading, 'processes' | 'redis'>> {
  const names = Object.entries(steady)
  const processes = await Promise.all(
    names.map(async ([name, pid]) => [name, await processUse(pid)] as const),
  )
  return { processes: Object.fromEntries(processes), redis: await redisUse(raw) }
}
