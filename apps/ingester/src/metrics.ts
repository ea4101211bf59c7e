import { MetricsRegistry } from '@kimchi/runtime'
import type { ServerHealth } from '@kimchi/store'
import { type Figure, figuresOf, metricValues } from './figures.ts'
import type { IngesterStatus } from './status.ts'

export interface MetricsOptions {
  readonly version: string
  readonly status: () => IngesterStatus
  /** Redis' health; undefined when Redis does not answer, refuses, or has no functions yet. */
  readonly redisHealth: () => Promise<ServerHealth | undefined>
}

/** The ingester's Prometheus metrics, read from its status whenever they are asked for. */
export function createMetrics({ version, status, redisHealth }: MetricsOptions) {
  const metrics = new MetricsRegistry({ app: 'ingester', version })
  for (const [figure, { metric }] of Object.entries(figuresOf(status()))) {
    if (metric === undefined) continue
    const { type, help, name = type === 'counter' ? `${figure}_total` : figure } = metric
    const read = () => metricValues(figuresOf(status())[figure] as Figure)
    metrics.add(type, { name: `kimchi_ingester_${name}`, help, read })
  }
  metrics.registerMetric(status().minutes.waits)
  registerRedis(metrics, redisHealth)
  return metrics
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
