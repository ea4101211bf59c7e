import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { minuteOf } from '@kimchi/core'
import { ask, startRedis } from '@kimchi/testkit'
import { fill } from './lib/fill.ts'
import type { Options } from './lib/load.ts'
import { median, NODE, publish, table } from './lib/report.ts'
import { LIVE, residentMb, startApi } from './lib/servers.ts'
import { onStage, type Stage } from './lib/stage.ts'

const COINS = 200
const REPLICAS = 3
/** The spans that people ask for; 3,650 days are all of them. */
const SPANS = [7, 30, 90, 365, 3_650]
const CODINGS = ['identity', 'gzip', 'br']
/** V8 and malloc give memory back with time: a minute that follows at once says too much. */
const SETTLE_MS = 5_000

/** Measures how fast a replica starts, how soon it answers a written minute, and how much memory it has. */
export async function replicas({ rounds }: Options): Promise<void> {
  const times = await onStage(t => measureTimes(t, rounds))
  const memory = []
  for (const days of [365, 1_825]) memory.push(await onStage(t => measureMemory(t, days, rounds)))
  publish(`Replicas, Node ${NODE}`, [
    `${COINS} coins, ${REPLICAS} replicas, ${rounds} minutes. A minute is written by one call of a Redis Function:`,
    table(
      ['', 'median', 'worst'],
      Object.entries(times).map(([name, values]) => [
        name,
        `${median(values).toFixed(0)} ms`,
        `${Math.max(...values).toFixed(0)} ms`,
      ]),
    ),
    `Resident memory of one replica: started; each coin's 365 days asked for plain, gzip and br; each in all spans (7, 30, 90, 365 days and all); the same in each of ${rounds} more minutes; and the highest ever.`,
    table(['days per coin', 'started', '365 days', 'all spans', 'minutes later', 'highest'], memory),
  ])
}

async function measureTimes(t: Stage, rounds: number) {
  const times: Record<string, number[]> = {
    'start of a process to its first 200': [],
    'write of a minute to its confirmation': [],
    'write of a minute to the first byte of the new list': [],
  }
  const [starts, writes, answers] = Object.values(times)
  const redis = await startRedis(t)
  const filled = await fill(t, redis.url, { coins: COINS, days: 0 })
  // Minutes of the past, each newer than the one before: for a replica that is all that makes one new.
  const oldest = minuteOf(Date.now()) - rounds
  await filled.writeMinute(oldest - 1)
  const ports: number[] = []
  for (let replica = 0; replica < REPLICAS; replica++) {
    const startedAt = performance.now()
    ports.push((await startApi(t, redis.url)).port)
    starts?.push(performance.now() - startedAt)
  }
  for (let minute = oldest; minute < oldest + rounds; minute++) {
    const waiting = ports.map(newAnswer)
    await delay(50)
    const startedAt = performance.now()
    await filled.writeMinute(minute)
    writes?.push(performance.now() - startedAt)
    for (const at of await Promise.all(waiting)) answers?.push(at - startedAt)
  }
  return times
}

/** When another list was answered than the present one. */
async function newAnswer(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const headers = { 'if-none-match': `${(await ask(port, LIVE, { agent })).headers.etag}` }
  // A pause of a millisecond, because watchers and replicas share the cores.
  while ((await ask(port, LIVE, { agent, headers })).status === 304) await delay(1)
  agent.destroy()
  return performance.now()
}

async function measureMemory(t: Stage, days: number, rounds: number): Promise<readonly string[]> {
  const redis = await startRedis(t)
  const filled = await fill(t, redis.url, { coins: COINS, days })
  let minute = minuteOf(Date.now()) - rounds
  await filled.writeMinute(minute)
  const { pids, port } = await startApi(t, redis.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const sizes = [residentMb(...pids)]
  const askFor = async (spans: readonly number[]) => {
    const wanted = spans.flatMap(span => CODINGS.map(coding => ({ span, coding })))
    for (const symbol of filled.symbols) {
      for (const { span, coding } of wanted) {
        const headers = { 'accept-encoding': coding }
        await ask(port, `${LIVE}/${symbol}/daily?days=${span}`, { agent, headers })
      }
    }
    await delay(SETTLE_MS)
    return residentMb(...pids)
  }
  sizes.push(await askFor([365]), await askFor(SPANS))
  for (let round = 1; round <= rounds; round++) {
    const next = newAnswer(port)
    minute += 1
    await filled.writeMinute(minute)
    await next
    const size = await askFor(SPANS)
    if (round === rounds) sizes.push(size)
  }
  sizes.push(residentMb(...pids, 'VmHWM'))
  return [days.toLocaleString('en'), ...sizes.map(size => `${size.toFixed(0)} MB`)]
}
