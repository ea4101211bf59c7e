import { type Milliseconds, minuteStart } from '@kimchi/core'
import { createMetricsRegistry, type MetricsRegistry } from '@kimchi/runtime'
import type { DocumentsStatus } from './documents/documents.ts'
import type { RequestCounters } from './http/request-counters.ts'

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly version: string
  readonly documents: () => DocumentsStatus
  readonly counters: RequestCounters
  readonly redisUp: () => boolean
  /** How long Redis takes to answer now; undefined when it does not. */
  readonly redisLatency: () => Promise<Milliseconds | undefined>
  readonly connections: () => Promise<number>
}

/** The API's Prometheus metrics. */
export function createMetrics(options: MetricsOptions): MetricsRegistry {
  const metrics = createMetricsRegistry({ app: 'api', version: options.version })
  registerRequests(metrics, options)
  registerDocuments(metrics, options)
  registerRedis(metrics, options)
  return metrics
}

function registerRequests(metrics: MetricsRegistry, { counters, connections }: MetricsOptions): void {
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
  metrics.gauge({ name: 'kimchi_api_connections', help: 'Open public connections.', read: connections })
}

function registerDocuments(metrics: MetricsRegistry, { documents }: MetricsOptions): void {
  const gauge = (name: string, help: string, read: (status: DocumentsStatus) => number | undefined) =>
    metrics.gauge({ name, help, read: () => read(documents()) })
  gauge(
    'kimchi_api_newest_snapshot_timestamp_seconds',
    'Time of the newest snapshot served, in seconds since the epoch.',
    ({ newestMinute }) => newestMinute && minuteStart(newestMinute) / 1_000,
  )
  gauge('kimchi_api_coins', 'Coins known, tracked or with a readable history.', ({ coins }) => coins)
  gauge('kimchi_api_histories', 'Coins whose history is held in memory.', ({ histories }) => histories)
  gauge(
    'kimchi_api_corrupt_entries',
    'Entries of the last read that were skipped as corrupt.',
    ({ corrupt }) => corrupt,
  )
  gauge(
    'kimchi_api_rebuild_duration_seconds',
    'How long the last read of Redis and the making of the live list from it took.',
    ({ rebuildMs }) => inSeconds(rebuildMs),
  )
  metrics.counter({
    name: 'kimchi_api_refreshes_total',
    help: 'Reads of Redis that brought the documents up to date.',
    read: () => documents().refreshed,
  })
  metrics.counter({
    name: 'kimchi_api_refresh_failures_total',
    help: 'Reads of Redis that failed.',
    read: () => documents().refreshesFailed,
  })
}

function registerRedis(metrics: MetricsRegistry, { redisUp, redisLatency }: MetricsOptions): void {
  metrics.gauge({
    name: 'kimchi_api_redis_up',
    help: '1 while Redis answers.',
    read: () => (redisUp() ? 1 : 0),
  })
  metrics.gauge({
    name: 'kimchi_api_redis_latency_seconds',
    help: 'How long Redis takes to answer, asked once whenever metrics are read.',
    read: async () => inSeconds(await redisLatency()),
  })
}

function inSeconds(ms: Milliseconds | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000
}
