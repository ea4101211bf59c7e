import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Teardown, withTeardown } from '@kimchi/testkit'
import { openLoad } from './soak/load.ts'
import { memoryGrowth, type Reading, readResourceUse, resourceTable } from './soak/resource-use.ts'
import { openSoakStack } from './soak/stack.ts'

const READ_EVERY_MS = 5_000

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) {
  console.error('usage: npm run soak -- [--minutes 30]')
  process.exit(2)
}
const problems = await withTeardown(soak).catch(thrown => [String(thrown?.stack ?? thrown)])
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)

/** What was wrong in the end. */
async function soak(t: Teardown): Promise<readonly string[]> {
  execFileSync(fileURLToPath(new URL('../../scripts/image-nginx.sh', import.meta.url)))
  const stack = await openSoakStack(t)
  console.log(`${minutes} minutes of load`)
  const load = openLoad(stack.port, stack.bed.coins)
  t.teardown(load.close)
  const startedAt = performance.now()
  const readings: Reading[] = []
  while (performance.now() - startedAt < minutes * 60_000) {
    await delay(READ_EVERY_MS)
    const { requests, failed } = load.counts
    readings.push({ requests, failed, ...(await readResourceUse(stack.opsPorts, stack.raw)) })
  }
  await load.close()
  const { failed, failures } = load.counts
  const { lost, doubled, wrong, live, candle, findings } = await stack.bed.settle()
  console.table(resourceTable(readings))
  console.log(
    `audit: ${live} live and ${candle} candle samples, ${lost} lost, ${doubled} doubled, ${wrong} wrong`,
  )
  return [
    ...(failed > 0 ? [`${failed} requests failed, such as ${failures.join('; ')}`] : []),
    ...findings,
    ...memoryGrowth(readings, minutes),
  ]
}
