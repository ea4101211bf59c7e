import type { Clock } from '@kimchi/core'
import { MetricsRegistry, type Reason, readyGauge } from '@kimchi/runtime'
import type { ServerHealth } from '@kimchi/store'
import { FIGURES, type Figure, valuesOf } from './figures.ts'
import type { IngesterStatus } from './status.ts'

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly version: string
  readonly clock: Pick<Clock, 'now'>
  readonly status: () => IngesterStatus
  readonly reasons: () => readonly Reason[]
  /** Redis' health; undefined when Redis does not answer. */
  readonly redisHealth: () => Promise<ServerHealth | undefined>
}

/** The ingester's Prometheus metrics, read from its status whenever they are asked for. */
export function createMetrics({ version, clock, status, reasons, redisHealth }: MetricsOptions) {
  const metrics = new MetricsRegistry({ app: 'ingester', version })
  metrics.gauge(readyGauge(reasons))
  for (const figure of FIGURES) register(metrics, figure, () => valuesOf(figure, status(), clock.now()))
  metrics.add(status().minutes.waits)
  registerRedis(metrics, redisHealth)
  return metrics
}

/** The hash has whole numbers: of ages the unit is in the name, and 1 `_e4` is 1/10,000 percent. */
const UNITS = [
  { hash: '_ms', metric: '_seconds', size: 1e-3 },
  { hash: '_e4', metric: '_ratio', size: 1e-6 },
]

function register(metrics: MetricsRegistry, figure: Figure, readValues: () => ReturnType<typeof valuesOf>) {
  const { gauge, counter, label } = figure
  const help = gauge ?? counter
  if (help === undefined) return
  const unit = UNITS.find(({ hash }) => figure.name.endsWith(hash))
  const name = unit ? figure.name.slice(0, -unit.hash.length) + unit.metric : figure.name
  const read = () =>
    readValues().flatMap(([key, value]) => {
      if (value === undefined) return []
      const number = Array.isArray(value) ? value.length : Number(value) * (unit?.size ?? 1)
      return [[label && key !== undefined ? { [label]: key } : {}, number] as const]
    })
  const definition = { help, ...(label && { labels: [label] }), read }
  if (gauge) metrics.gauge({ ...definition, name: `kimchi_ingester_${name}` })
  else metrics.counter({ ...definition, name: `kimchi_ingester_${name}_total` })
}

function registerRedis(metrics: MetricsRegistry, redisHealth: MetricsOptions['redisHealth']): void {
  const gauge = (name: string, help: string, read: (health: ServerHealth) => number | undefined) => {
    const readHealth = async () => {
      const health = await redisHealth()
      return health && read(health)
    }
    metrics.gauge({ name: `kimchi_ingester_redis_${name}`, help, read: readHealth })
  }
  gauge('latency_seconds', 'How long Redis took to answer just now.', ({ latencyMs }) => latencyMs / 1_000)
  gauge('memory_used_bytes', 'Memory that Redis uses.', ({ memoryUsed }) => memoryUsed)
  const limit = 'Memory at which Redis refuses writes; absent without a limit.'
  gauge('memory_max_bytes', limit, ({ memoryMax }) => memoryMax)
}
