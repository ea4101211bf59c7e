import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DAY_MINUTES,
  type Day,
  dateOf,
  dayStart,
  type EpochMinute,
  minuteOf,
  percentOf,
  premiumE4,
  type Sample,
} from '@kimchi/core'
import { createWriter, openRedis } from '@kimchi/store'
import { ask, createMemoryLog, type Program, startRedis, type Teardown } from '@kimchi/testkit'
import { type Edge, type EdgeOptions, openEdge } from '../../src/edge.ts'
import { startApp } from '../../src/start-app.ts'

/** One API process; it can be ended and started again on its port. */
export interface Replica {
  readonly port: number
  readonly opsPort: number
  process: Program
  /** Starts it and waits until it has read Redis. */
  start(): Promise<void>
}

/** Redis, real API processes, and Debian's nginx in front of them. */
export interface EdgeStack {
  readonly edge: Edge
  readonly replicas: readonly Replica[]
  writeMinute(minute: EpochMinute): Promise<unknown>
}

/** What an edge world is made of. */
export interface EdgeStackOptions extends Omit<Partial<EdgeOptions>, 'replicas'> {
  /** Written before the replicas start; none when undefined. */
  readonly minute?: EpochMinute
  /** @default 2 */
  readonly replicas?: number
  /** More environment for the replicas. */
  readonly env?: Record<string, string>
}

/** Enough of them that every document is worth coding. */
const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']
const HISTORY_DAYS = 30

/** Written before its time, so that its copies are good for a minute from now and none expires within a test. */
export const aheadMinute = (): EpochMinute => minuteOf(Date.now()) + 1

export const LIVE = '/api/v1/kimchi-premium'

/** Starts everything; it ends with the test. */
export async function openEdgeStack(t: Teardown, options: EdgeStackOptions = {}): Promise<EdgeStack> {
  const { minute, replicas: count = 2, env = {}, ...edgeOptions } = options
  const redis = await startRedis(t)
  const writeMinute = await openMinutes(t, redis.url)
  if (minute !== undefined) await writeMinute(minute)
  const replicas = await Promise.all(
    Array.from({ length: count }, () => startReplica(t, { REDIS_URL: redis.url, ...env })),
  )
  const dir = await temporaryFolder(t)
  const edge = await openEdge({ dir, ...edgeOptions, replicas: replicas.map(({ port }) => port) })
  t.teardown(() => edge.close())
  return { edge, replicas, writeMinute }
}

/** A folder that goes with the test. */
export async function temporaryFolder(t: Teardown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-edge-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

async function openMinutes(t: Teardown, url: string) {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const writer = createWriter({ redis, prices: 'live', retentionDays: 8, log: createMemoryLog() })
  await writer.track(
    COINS.map(symbol => ({ symbol, name: symbol, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` })),
  )
  const oldest = dayStart(minuteOf(Date.now())) - (8 + HISTORY_DAYS) * DAY_MINUTES
  for (let day = 0; day < HISTORY_DAYS; day++) {
    await Promise.all(COINS.map(symbol => writer.importDay(symbol, wholeDay(oldest + day * DAY_MINUTES))))
  }
  return (minute: EpochMinute) =>
    writer.write({ minute, samples: COINS.map(symbol => sampleOf(symbol, minute)) })
}

function sampleOf(symbol: string, minute: EpochMinute): Sample {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 100) * 10_000, 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

function wholeDay(first: EpochMinute): Day {
  const [open, high, low, close, samples] = [12_345, 15_000, 9_124, 13_456, DAY_MINUTES]
  const lastMinute = first + samples - 1
  return {
    date: dateOf(first),
    open,
    high,
    low,
    close,
    sum: close * samples,
    samples,
    firstMinute: first,
    lastMinute,
  }
}

/** The premium of every coin in a minute, in percent: another one in each of a hundred minutes. */
export function premiumAt(minute: EpochMinute): number {
  return percentOf(sampleOf('BTC', minute).premiumE4)
}

async function startReplica(t: Teardown, env: Record<string, string>): Promise<Replica> {
  const startAt = async (port: number, opsPort: number) => {
    const own = { HOST: '127.0.0.1', PORT: String(port), OPS_PORT: String(opsPort) }
    const process = startApp('api', { ...own, ...env })
    t.teardown(() => process.end('SIGKILL'))
    const line = await process.line(line => line.includes('API listens'))
    return { process, ports: JSON.parse(line) as { port: number; opsPort: number } }
  }
  // It chooses its ports; on a second start it must have the same.
  const { process, ports } = await startAt(0, 0)
  const replica: Replica = {
    port: ports.port,
    opsPort: ports.opsPort,
    process,
    async start() {
      replica.process = (await startAt(ports.port, ports.opsPort)).process
    },
  }
  return replica
}

/** Requests that the replicas answered since they started, counted by themselves. */
export async function answersOf(replicas: readonly Replica[]): Promise<number> {
  let sum = 0
  for (const { opsPort } of replicas) {
    const { body } = await ask(opsPort, '/metrics')
    const counts = body.toString().matchAll(/^kimchi_api_\w+_total\{[^}]*status="\d+"[^}]*\} (\d+)$/gm)
    for (const [, count] of counts) sum += Number(count)
  }
  return sum
}

/** A line of the edge's log: a request that reached a replica. */
export interface UpstreamRequest {
  readonly time: string
  readonly uri: string
  readonly coding: string
  readonly cache: string
}

/** What the edge asked its replicas, as it wrote it down. */
export async function upstreamRequests(edge: Edge): Promise<readonly UpstreamRequest[]> {
  const lines = (await readFile(edge.log, 'utf8')).split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line))
}
