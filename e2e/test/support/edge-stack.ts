import { readFile } from 'node:fs/promises'
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
import { openRedis, SampleWriter } from '@kimchi/store'
import { ask, createMemoryLog, eventually, startRedis, type Teardown } from '@kimchi/testkit'
import { type Replica, startReplicas } from '../../src/apps.ts'
import type { Edge } from '../../src/edge.ts'

/** Enough of them that every document is worth coding. */
const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']
const HISTORY_DAYS = 30

/** Written before its time, so that its copies are good for a minute from now and none expires within a test. */
export const aheadMinute = (): EpochMinute => minuteOf(Date.now()) + 1

export const LIVE = '/api/v1/kimchi-premium'

/**
 * Starts Redis and real API processes, for `openEdge`; they end with the test.
 * @param options.minute written before the replicas start; none when undefined
 * @param options.env more environment for the replicas
 */
export async function openReplicas(
  t: Teardown,
  options: { minute?: EpochMinute; replicas?: number; env?: Record<string, string> } = {},
) {
  const { minute, replicas = 2, env } = options
  const redis = await startRedis(t)
  const writeMinute = await openMinutes(t, redis.url)
  if (minute !== undefined) await writeMinute(minute)
  return { writeMinute, ...(await startReplicas(t, redis.url, replicas, env)) }
}

async function openMinutes(t: Teardown, url: string) {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(60_000)
  const writer = new SampleWriter({ redis, prices: 'live', retentionDays: 8, log: createMemoryLog() })
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

/** Requests that the replicas answered since they started, counted by themselves. */
export async function answersOf(replicas: readonly Replica[]): Promise<number> {
  let sum = 0
  for (const { opsPort } of replicas) {
    const { body } = await ask(opsPort, '/metrics')
    const counts = body.toString().matchAll(/^kimchi_api_request_duration_seconds_count\{[^}]*\} (\d+)$/gm)
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
  readonly upstream: string
  readonly seconds: string
}

/** What the edge asked its replicas, as it wrote it down. */
export async function upstreamRequests(edge: Edge): Promise<readonly UpstreamRequest[]> {
  const lines = (await readFile(edge.log, 'utf8')).split('\n').filter(line => line.startsWith('{'))
  // Without those of openEdge itself.
  return lines.map(line => JSON.parse(line)).filter(({ uri }) => uri !== '/api')
}

export async function metricsOf(edge: Edge): Promise<string> {
  return (await ask(edge.opsPort, '/metrics')).body.toString()
}

/** The edge's metrics as soon as they have such a line: nginx counts a request a moment after its answer. */
export function metricsWith(edge: Edge, line: RegExp): Promise<string> {
  return eventually(String(line), async () => {
    const text = await metricsOf(edge)
    return line.test(text) && text
  })
}
