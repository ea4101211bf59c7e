import { type Clock, type EpochMs, minuteStart } from '@kimchi/core'
import { MetricsRegistry } from '@kimchi/runtime'
import type { DocumentsStatus } from './documents/documents.ts'
import type { Sender } from './http/sender.ts'

export interface MetricsOptions {
  readonly version: string
  readonly clock: Pick<Clock, 'now'>
  readonly documents: () => DocumentsStatus
  readonly durations: Sender['durations']
}

export function createMetrics({ version, clock, documents, durations }: MetricsOptions) {
  const metrics = new MetricsRegistry({ app: 'api', version })
  metrics.registerMetric(durations)
  const gauge = (name: string, help: string, read: (status: DocumentsStatus) => number | undefined) =>
    metrics.add('gauge', { name: `kimchi_api_${name}`, help, read: () => read(documents()) })
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
