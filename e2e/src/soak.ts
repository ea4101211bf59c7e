import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DAY_MINUTES, dayStart, minuteOf } from '@kimchi/core'
import { ask, audit, eventually, startProgram, type Teardown, withTeardown } from '@kimchi/testkit'
import { getJson, opsPortOf, startReplicas } from './apps.ts'
import { openEdge } from './edge.ts'
import { type MemoryReading, memoryGrowth, memoryTable } from './memory-growth.ts'
import { openTestbed } from './testbed.ts'

const READ_EVERY_MS = 5_000
const LOAD = fileURLToPath(new URL('../../deploy/load.mjs', import.meta.url))
/** The newest minutes are left to the live feeds. @see docs/architecture.md#ingester */
const LEFT_TO_LIVE = 6
const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const minutes = Number(values.minutes)
const problems = await withTeardown(soak).catch(thrown => [String(thrown?.stack ?? thrown)])
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)

/**
 * Runs the whole service in real time, under load: two ingesters, three replicas behind nginx, Redis, both exchanges.
 * Returns what was wrong in the end.
 */
async function soak(t: Teardown): Promise<readonly string[]> {
  execFileSync(fileURLToPath(new URL('../../scripts/image-nginx.sh', import.meta.url)))
  const from = dayStart(minuteOf(Date.now())) - DAY_MINUTES
  const bed = await openTestbed(t, COINS)
  const ingester = bed.start()
  bed.start()
  const { replicas, ...upstream } = await startReplicas(t, bed.redis.url, 3)
  const edge = await openEdge(t, { ...upstream, perSecond: 1_000 })
  const list = (authority: string) => `http://${authority}/api/v1/kimchi-premium`
  // The first minute comes from candles, coin by coin.
  for (const { address } of replicas) {
    const url = list(`${address}:${upstream.apiPort}`)
    const isWhole = async () => (await getJson<{ count: number }>(url))?.body.count === COINS.length
    await eventually('a first minute of every coin', isWhole)
  }
  const opsPorts = { ingester: await opsPortOf(ingester), API: Number(replicas[0]?.opsPort) }

  console.log(`${minutes} minutes of load`)
  const args = [LOAD, list(`127.0.0.1:${edge.port}`), 'sleep', String(minutes * 60)]
  const load = startProgram(t, args, { RATE: '100' })
  const readings: MemoryReading[] = []
  while (load.child.exitCode === null) {
    const reading: Record<string, number> = {}
    for (const [app, port] of Object.entries(opsPorts)) {
      const text = String((await ask(port, '/metrics')).body)
      reading[app] = Number(/^process_resident_memory_bytes (.+)$/m.exec(text)?.[1]) / 1e6
    }
    reading.Redis = Number(/used_memory:(\d+)/.exec(await bed.raw.info('memory'))?.[1]) / 1e6
    readings.push(reading)
    await Promise.race([delay(READ_EVERY_MS), load.ended])
  }
  const to = minuteOf(Date.now()) - LEFT_TO_LIVE
  const auditAll = () => audit({ redis: bed.raw, truth: bed.exchanges, coins: COINS, from, to })
  // A day row may first have to be repaired.
  await eventually('all is right', async () => (await auditAll()).findings.length === 0).catch(() => {})
  const { lost, doubled, wrong, live, candle, findings } = await auditAll()
  console.log(load.lines.join('\n'))
  console.table(memoryTable(readings))
  console.log(
    `audit: ${live} live and ${candle} candle samples, ${lost} lost, ${doubled} doubled, ${wrong} wrong`,
  )
  return [
    ...((await load.ended) === 0 ? [] : ['requests failed']),
    ...findings,
    ...memoryGrowth(readings, minutes),
  ]
}
