import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { minuteOf } from '@kimchi/core'
import { ask, startRedis, type Teardown } from '@kimchi/testkit'
import { fill } from './lib/fill.ts'
import { median, NODE, type Options, publish, table } from './lib/report.ts'
import { LIVE, onStage, residentMb, startApi } from './lib/servers.ts'

const COINS = 200
const REPLICAS = 3
/** The numbers of days that people ask for; 3,650 are all of them. */
const SPANS = [7, 30, 90, 365, 3_650]
const CODINGS = ['identity', 'gzip', 'br']
/** V8 and malloc return memory only after a while, so that a measurement without a pause shows too much. */
const SETTLE_MS = 5_000

/** Measures how fast a replica starts, how soon it answers a written minute, and how much memory it has. */
export async function replicas({ rounds }: Options): Promise<void> {
  const times = await onStage(t => measureTimes(t, rounds))
  const memory = []
  for (const days of [365, 1_825]) memory.push(await onStage(t => measureMemory(t, days, rounds)))
  publish(`Replicas, Node ${NODE}`, [
    `${COINS} coins, ${REPLICAS} replicas, minutes measured: ${rounds}. A minute is written by one call of a Redis Function:`,
    table(['', 'median', 'worst'], times),
    `Resident memory of one replica: started; each coin's 365 days asked for plain, gzip and br; each in all spans (7, 30, 90, 365 days and all); the same minute after minute, ${rounds} times; and the highest ever.`,
    table(['days per coin', 'started', '365 days', 'all spans', 'minutes later', 'highest'], memory),
  ])
}

async function measureTimes(t: Teardown, rounds: number): Promise<string[][]> {
  const [starts, writes, answers]: [number[], number[], number[]] = [[], [], []]
  const redis = await startRedis(t)
  const { writeMinute } = await fill(t, redis.url, COINS, 0)
  // To a replica a minute is new when it is newer than the one before, even in the past.
  const oldest = minuteOf(Date.now()) - rounds
  await writeMinute(oldest - 1)
  const ports: number[] = []
  for (let replica = 0; replica < REPLICAS; replica++) {
    const startedAt = performance.now()
    ports.push((await startApi(t, redis.url)).port)
    starts.push(performance.now() - startedAt)
  }
  for (let minute = oldest; minute < oldest + rounds; minute++) {
    const waiting = ports.map(newAnswer)
    await delay(50)
    const startedAt = performance.now()
    await writeMinute(minute)
    writes.push(performance.now() - startedAt)
    for (const at of await Promise.all(waiting)) answers.push(at - startedAt)
  }
  const ms = (value: number) => `${value.toFixed(0)} ms`
  const row = (name: string, times: number[]) => [name, ms(median(times)), ms(Math.max(...times))]
  return [
    row('start of a process to its first 200', starts),
    row('write of a minute to its confirmation', writes),
    row('write of a minute to the first byte of the new list', answers),
  ]
}

/** Waits for another list than the present one; returns when it was answered. */
async function newAnswer(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const headers = { 'if-none-match': `${(await ask(port, LIVE, { agent })).headers.etag}` }
  // A pause of a millisecond, because watchers and replicas share the cores.
  while ((await ask(port, LIVE, { agent, headers })).status === 304) await delay(1)
  agent.destroy()
  return performance.now()
}

async function measureMemory(t: Teardown, days: number, rounds: number): Promise<readonly string[]> {
  const redis = await startRedis(t)
  const { symbols, writeMinute } = await fill(t, redis.url, COINS, days)
  const oldest = minuteOf(Date.now()) - rounds
  await writeMinute(oldest)
  const { pid, port } = await startApi(t, redis.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const sizes = [residentMb(pid)]
  const measureAfter = async (spans: readonly number[], column: number) => {
    const queries = spans.flatMap(span => CODINGS.map(coding => ({ span, coding })))
    for (const symbol of symbols) {
      for (const { span, coding } of queries) {
        const headers = { 'accept-encoding': coding }
        await ask(port, `${LIVE}/${symbol}/daily?days=${span}`, { agent, headers })
      }
    }
    await delay(SETTLE_MS)
    sizes[column] = residentMb(pid)
  }
  await measureAfter([365], 1)
  await measureAfter(SPANS, 2)
  for (let round = 1; round <= rounds; round++) {
    const next = newAnswer(port)
    await writeMinute(oldest + round)
    await next
    await measureAfter(SPANS, 3)
  }
  sizes.push(residentMb(pid, 'VmHWM'))
  return [days.toLocaleString('en'), ...sizes.map(size => `${size.toFixed(0)} MB`)]
}
