import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { projectRoot } from '@kimchi/local-redis'
import { seededRandom } from './random.ts'
import { runFaults } from './soak/faults.ts'
import { openLoad } from './soak/load.ts'
import { processUse, redisUse } from './soak/probe.ts'
import { chartOf, growthOf, type Reading, tableOf } from './soak/report.ts'
import { openSoakStack, type SoakStack } from './soak/stack.ts'

const USAGE = 'usage: npm run soak -- [--minutes 30] [--seed 1] [--chart .data/soak.svg]'
const READ_EVERY_MS = 5_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    chart: { type: 'string', default: join(projectRoot(), '.data/soak.svg') },
  },
})
const minutes = Number(values.minutes)
const random = seededRandom(Number(values.seed))
if (!(minutes > 0) || !Number.isInteger(Number(values.seed))) {
  console.error(USAGE)
  process.exit(2)
}

const closers: (() => unknown)[] = []
const closeAll = async () => {
  for (const close of closers.splice(0)) await close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeAll().then(() => process.exit(130)))
}

try {
  const problems = await soak()
  for (const problem of problems) console.error(`FAILED: ${problem}`)
  process.exitCode = problems.length === 0 ? 0 : 1
} catch (thrown) {
  console.error(thrown)
  process.exitCode = 1
} finally {
  await closeAll()
}
process.exit()

async function soak(): Promise<readonly string[]> {
  const stack = await openSoakStack({ teardown: close => closers.unshift(close) })
  console.log(`${minutes} minutes of faults and load, seed ${values.seed}`)
  if (!stack.hasEdge)
    console.log('nginx is not installed (apt-get install nginx-light): the load goes to one replica')
  const load = openLoad({ port: stack.port, coins: stack.bed.coins, random })
  closers.unshift(load.close)
  const ending = new AbortController()
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const faults = runFaults(stack, random, ending.signal, name =>
    console.log(`${minute().toFixed(1)} min  ${name}`),
  )
  const readings: Reading[] = []
  while (minute() < minutes) {
    await delay(READ_EVERY_MS)
    const { requests, failed } = load.counts()
    readings.push({ minute: minute(), requests, failed, ...(await use(stack)) })
  }
  ending.abort()
  await faults
  await load.close()
  const { failed, failures } = load.counts()
  const verdict = await stack.bed.settle()
  report(readings)
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

function report(readings: readonly Reading[]): void {
  console.table(tableOf(readings))
  mkdirSync(dirname(values.chart), { recursive: true })
  writeFileSync(values.chart, chartOf(readings, `Soak, ${minutes} minutes`))
  console.log(`chart: ${values.chart}`)
}
