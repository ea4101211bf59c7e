import { type Clock, type EpochMs, minuteStart } from '@kimchi/core'
import { MetricsRegistry, type Reason, readyGauge } from '@kimchi/runtime'
import type { DocumentsStatus } from './documents/documents.ts'
import type { RequestCounters } from './http/request-counters.ts'

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly version: string
  readonly clock: Pick<Clock, 'now'>
  readonly documents: () => DocumentsStatus
  readonly counters: RequestCounters
  readonly reasons: () => readonly Reason[]
}

/** The API's Prometheus metrics. */
export function createMetrics({ version, clock, documents, counters, reasons }: MetricsOptions) {
  const metrics = new MetricsRegistry({ app: 'api', version })
  metrics.gauge(readyGauge(reasons))
  metrics.histogram({
    name: 'kimchi_api_request_duration_seconds',
    help: 'From the headers of a request to its response being handed over, by route and status.',
    labels: ['route', 'status'],
    read: () => [...counters.read()].map(({ labels, ...durations }) => [labels, durations]),
  })
  const gauge = (name: string, help: string, read: (status: DocumentsStatus) => number | undefined) =>
    metrics.gauge({ name: `kimchi_api_${name}`, help, read: () => read(documents()) })
  gauge('tracked_coins', 'Coins that are published.', ({ tracked }) => tracked)
  gauge('fresh_coins', 'Coins with a sample of the newest minute of all.', countFresh)
  const oldest = (status: DocumentsStatus) => oldestAge(status, clock.now())
  gauge('oldest_row_age_seconds', 'Age of the oldest row of the live list.', oldest)
  gauge('corrupt_entries', 'Entries of the last read skipped as corrupt.', ({ corrupt }) => corrupt)
  return metrics
}

function countFresh({ rowMinutes, newestMinute }: DocumentsStatus): number {
  return rowMinutes.filter(minute => minute === newestMinute).length
}

function oldestAge({ rowMinutes }: DocumentsStatus, now: EpochMs): number | undefined {
  return rowMinutes.length === 0 ? undefined : (now - minuteStart(Math.min(...rowMinutes))) / 1_000
}
