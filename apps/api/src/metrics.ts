import { type Milliseconds, minuteStart } from '@kimchi/core'
import { MetricsRegistry } from '@kimchi/runtime'
import type { DocumentsStatus } from './documents/documents.ts'
import type { RequestCounters } from './http/request-counters.ts'

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly version: string
  readonly documents: () => DocumentsStatus
  readonly counters: RequestCounters
  readonly redisUp: () => boolean
  /** How long Redis needs to answer now; undefined when it does not answer. */
  readonly redisLatency: () => Promise<Milliseconds | undefined>
  readonly connections: () => Promise<number>
}

/** The API's Prometheus metrics. */
export function createMetrics(options: MetricsOptions): MetricsRegistry {
  const metrics = new MetricsRegistry({ app: 'api', version: options.version })
  registerRequests(metrics, options)
  registerDocuments(metrics, options)
  const { redisUp, redisLatency, connections } = options
  const latency = 'How long Redis takes to answer, asked once whenever metrics are read.'
  const readLatency = async () => inSeconds(await redisLatency())
  metrics.gauge({
    name: 'kimchi_api_redis_up',
    help: '1 while Redis answers.',
    read: () => Number(redisUp()),
  })
  metrics.gauge({ name: 'kimchi_api_redis_latency_seconds', help: latency, read: readLatency })
  metrics.gauge({ name: 'kimchi_api_connections', help: 'Open public connections.', read: connections })
  return metrics
}

function registerRequests(metrics: MetricsRegistry, { counters }: MetricsOptions): void {
  metrics.counter({
    name: 'kimchi_api_responses_total',
    help: 'Responses sent, by route and status.',
    labels: ['route', 'status'],
    read: () => [...counters.read()].map(({ labels, count }) => [labels, count]),
  })
  metrics.histogram({
    name: 'kimchi_api_request_duration_seconds',
    help: 'From the headers of a request to its response being handed over, by route and status.',
    labels: ['route', 'status'],
    read: () => [...counters.read()].map(({ labels, ...durations }) => [labels, durations]),
  })
}

function registerDocuments(metrics: MetricsRegistry, { documents }: MetricsOptions): void {
  const gauge = (name: string, help: string, read: (status: DocumentsStatus) => number | undefined) =>
    metrics.gauge({ name: `kimchi_api_${name}`, help, read: () => read(documents()) })
  const newestAt = ({ newestMinute }: DocumentsStatus) => newestMinute && minuteStart(newestMinute) / 1_000
  gauge('newest_snapshot_timestamp_seconds', 'Time of the newest snapshot served, since the epoch.', newestAt)
  gauge('coins', 'Coins known, tracked or with a readable history.', ({ coins }) => coins)
  gauge('histories', 'Coins whose history is held in memory.', ({ histories }) => histories)
  gauge('corrupt_entries', 'Entries of the last read skipped as corrupt.', ({ corrupt }) => corrupt)
  const rebuild = 'How long the last read of Redis and the making of the live list from it took.'
  gauge('rebuild_duration_seconds', rebuild, ({ rebuildMs }) => inSeconds(rebuildMs))
  const counter = (name: string, help: string, read: (status: DocumentsStatus) => number) =>
    metrics.counter({ name: `kimchi_api_${name}`, help, read: () => read(documents()) })
  counter('refreshes_total', 'Reads that brought the documents up to date.', ({ refreshed }) => refreshed)
  counter('refresh_failures_total', 'Reads of Redis that failed.', ({ refreshesFailed }) => refreshesFailed)
}

function inSeconds(ms: Milliseconds | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000
}
