import { setTimeout as delay } from 'node:timers/promises'
import { lacksNginx } from './edge.ts'
import { type LongRun, runLong } from './long-run.ts'
import { runFaults } from './soak/faults.ts'
import { openLoad } from './soak/load.ts'
import { growthOf, type Reading, readUse, tableOf } from './soak/report.ts'
import { openSoakStack } from './soak/stack.ts'

const READ_EVERY_MS = 5_000

await runLong('minutes', 30, soak)

async function soak({ amount: minutes, seed, t, random: newRandom }: LongRun): Promise<readonly string[]> {
  if (lacksNginx) return [lacksNginx]
  const random = newRandom()
  const stack = await openSoakStack(t)
  console.log(`${minutes} minutes of faults and load, seed ${seed}`)
  const load = openLoad(stack.port, stack.bed.coins, random)
  t.teardown(load.close)
  const ending = new AbortController()
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const onFault = (name: string) => console.log(`${minute().toFixed(1)} min  ${name}`)
  const faults = runFaults(stack, random, ending.signal, onFault)
  const readings: Reading[] = []
  while (minute() < minutes) {
    await delay(READ_EVERY_MS)
    const { requests, failed } = load.counts
    readings.push({ requests, failed, ...(await readUse(stack.opsPorts, stack.raw)) })
  }
  ending.abort()
  await faults
  await load.close()
  const { failed, failures } = load.counts
  const { lost, doubled, wrong, live, candle, findings } = await stack.bed.settle()
  console.table(tableOf(readings))
  console.log(
    `audit: ${live} live and ${candle} candle samples, ${lost} lost, ${doubled} doubled, ${wrong} wrong`,
  )
  return [
    ...(failed > 0 ? [`${failed} requests failed, such as ${failures.join('; ')}`] : []),
    ...findings,
    ...growthOf(readings, minutes),
  ]
}
