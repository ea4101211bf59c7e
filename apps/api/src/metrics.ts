import { minuteStart } from '@kimchi/core'
import { createMetricsRegistry, type MetricsRegistry } from '@kimchi/runtime'
import type { DocumentsStatus } from './documents/documents.ts'
import { countedResponses, type RequestCounters } from './http/request-counters.ts'

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly documents: () => DocumentsStatus
  readonly counters: RequestCounters
  readonly redisUp: () => boolean
  readonly connections: () => Promise<number>
}

/** The API's Prometheus metrics. */
export function createMetrics({
  documents,
  counters,
  redisUp,
  connections,
}: MetricsOptions): MetricsRegistry {
  const metrics = createMetricsRegistry()
  metrics.counter({
    name: 'kimchi_api_responses_total',
    help: 'Responses sent, by route and status.',
    labels: ['route', 'status'],
    read: () => [...countedResponses(counters)].map(({ route, status, count }) => [{ route, status }, count]),
  })
  metrics.counter({
    name: 'kimchi_api_connections_cut_total',
    help: 'Connections turned away or cut, by reason.',
    labels: ['reason'],
    read: () => Object.entries(counters.cut).map(([reason, count]) => [{ reason }, count]),
  })
  metrics.gauge({ name: 'kimchi_api_connections', help: 'Open public connections.', read: connections })
  metrics.gauge({
    name: 'kimchi_api_newest_snapshot_timestamp_seconds',
    help: 'Time of the newest snapshot served, in seconds since the epoch.',
    read: () => {
      const { newestMinute } = documents()
      return newestMinute === undefined ? undefined : minuteStart(newestMinute) / 1_000
    },
  })
  metrics.gauge({
    name: 'kimchi_api_coins',
    help: 'Coins known, tracked or with a readable history.',
    read: () => documents().coins,
  })
  metrics.gauge({
    name: 'kimchi_api_histories',
    help: 'Coins whose history is held in memory.',
    read: () => documents().histories,
  })
  metrics.gauge({
    name: 'kimchi_api_corrupt_entries',
    help: 'Entries of the last read that were skipped as corrupt.',
    read: () => documents().corrupt,
  })
  metrics.gauge({
    name: 'kimchi_api_redis_up',
    help: '1 while Redis answers.',
    read: () => (redisUp() ? 1 : 0),
  })
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
  return metrics
}
