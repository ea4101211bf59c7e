import { readFile } from 'node:fs/promises'
import { type EpochMinute, minuteOf, percentOf } from '@kimchi/core'
import { ask, eventually, startRedis, type Teardown } from '@kimchi/testkit'
import { type Replica, startReplicas } from '../../src/apps.ts'
import type { Edge } from '../../src/edge.ts'
import { fillRedis, sampleOf } from '../../src/fill.ts'

/** Enough of them that every document is worth coding. */
const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']
const HISTORY_DAYS = 30

/** Written before its time, so that its copies are good for a minute from now and none expires within a test. */
export const aheadMinute = (): EpochMinute => minuteOf(Date.now()) + 1

export const LIVE = '/api/v1/kimchi-premium'

/**
 * Starts Redis and real API processes, for `openEdge`; they end with the test.
 * @param options.minute written before the replicas start; none when undefined
 */
export async function openReplicas(t: Teardown, options: { minute?: EpochMinute; replicas?: number } = {}) {
  const { minute, replicas = 2 } = options
  const redis = await startRedis(t)
  const writeMinute = await fillRedis(t, redis.url, COINS, HISTORY_DAYS)
  if (minute !== undefined) await writeMinute(minute)
  return { writeMinute, ...(await startReplicas(t, redis.url, replicas)) }
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
