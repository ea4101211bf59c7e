import { MetricsRegistry } from '@kimchi/runtime'
import type { ServerHealth } from '@kimchi/store'
import { type Figure, type FigureName, figuresOf, type IngesterStatus, isSeveral } from './status.ts'

export interface MetricsOptions {
  readonly version: string
  readonly status: () => IngesterStatus
  /** Redis' health; undefined when Redis does not answer. */
  readonly redisHealth: () => Promise<ServerHealth | undefined>
}

type HelpTexts = Readonly<Partial<Record<FigureName, string>>>

/** A figure is a metric as well when an alert, a panel or a runbook reads it. */
const GAUGES = {
  waiting_minutes: 'Minutes that wait to be stored to Redis.',
  open_minutes: 'Minutes neither stored nor settled, counted per coin and minute.',
} satisfies HelpTexts

/** Grouped by label. */
const COUNTERS = {
  reason: { gaps: 'Minutes without a live sample, counted per coin and minute, by reason.' },
  outcome: {
    redis_writes:
      'Samples stored, there already or refused; minutes dropped or rejected; writes tried again.',
    decided_minutes: 'Open minutes by what backfill decided, counted per coin and minute.',
    mended_rows: 'Day rows that were not the fold of their samples and were folded again.',
  },
  exchange: {
    silences: 'Silences of more than 3 s on an open connection.',
    reconnects: 'Times that data came back after it had broken off.',
    malformed: 'Frames that were dropped as broken.',
  },
} satisfies Readonly<Record<string, HelpTexts>>

/** The ingester's Prometheus metrics, read from its status whenever they are asked for. */
export function createMetrics({ version, status, redisHealth }: MetricsOptions) {
  const metrics = new MetricsRegistry({ app: 'ingester', version })
  const read = (name: string, label: string, unit?: number) => {
    const figures: Readonly<Record<string, Figure>> = figuresOf(status())
    return numbersOf(figures[name], label, unit)
  }
  for (const [name, help] of Object.entries(GAUGES)) {
    metrics.add('gauge', { name: `kimchi_ingester_${name}`, help, read: () => read(name, '') })
  }
  for (const [label, counters] of Object.entries(COUNTERS)) {
    for (const [name, help] of Object.entries(counters)) {
      metrics.add('counter', { name: `kimchi_ingester_${name}_total`, help, read: () => read(name, label) })
    }
  }
  metrics.add('gauge', {
    name: 'kimchi_ingester_drift_median_ratio',
    help: 'Median difference between live premiums and the same minutes from candles; 0.01 is one percentage point.',
    read: () => read('drift_median_e4', '', 1e-6),
  })
  metrics.add('gauge', {
    name: 'kimchi_ingester_watermark_age_seconds',
    help: 'Age of the newest event time of the stream.',
    read: () => read('watermark_age_ms', 'exchange', 1e-3),
  })
  metrics.add('gauge', {
    name: 'kimchi_ingester_held_back_coins',
    help: 'Coins whose newest row is more than two minutes old, by reason; in words: the status hash.',
    read: () => read('held_back_coins', 'reason'),
  })
  metrics.add('histogram', status().minutes.waits)
  registerRedis(metrics, redisHealth)
  return metrics
}

/**
 * The metric's value.
 * @param unit factor from the figure's unit to the metric's
 */
function numbersOf(figure: Figure, label: string, unit = 1) {
  if (figure === undefined) return undefined
  if (!isSeveral(figure)) return Number(figure) * unit
  return Object.entries(figure).flatMap(([key, value]) => {
    return value === undefined ? [] : [[{ [label]: key }, Number(value) * unit] as const]
  })
}

function registerRedis(metrics: MetricsRegistry, redisHealth: MetricsOptions['redisHealth']): void {
  // A scrape reads all gauges at once: they share one answer.
  let asking: Promise<ServerHealth | undefined> | undefined
  const gauge = (name: string, help: string, read: (health: ServerHealth) => number | undefined) => {
    const readHealth = async () => {
      asking ??= redisHealth().finally(() => {
        asking = undefined
      })
      const health = await asking
      return health && read(health)
    }
    metrics.add('gauge', { name: `kimchi_ingester_redis_${name}`, help, read: readHealth })
  }
  gauge('latency_seconds', 'How long Redis took to answer just now.', ({ latencyMs }) => latencyMs / 1_000)
  gauge('memory_used_bytes', 'Memory that Redis uses.', ({ memoryUsed }) => memoryUsed)
  const limit = 'Memory at which Redis refuses writes; absent without a limit.'
  gauge('memory_max_bytes', limit, ({ memoryMax }) => memoryMax)
}
