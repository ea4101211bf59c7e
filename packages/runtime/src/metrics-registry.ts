import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { HistogramReading } from './duration-histogram.ts'

/** One value, a value for each set of labels, or undefined: nothing to report. */
export type MetricValue = number | undefined | readonly (readonly [labels: MetricLabels, value: number])[]

/** Label names and their values. */
export type MetricLabels = Readonly<Record<string, string | number>>

/** What a metric is called and means. */
export interface MetricDefinition {
  readonly name: string
  readonly help: string
  /** Label names. @default none */
  readonly labels?: readonly string[]
  /** Gives the value when the metrics are read, so that the work being counted pays nothing for it. */
  readonly read: () => MetricValue | Promise<MetricValue>
}

/** A metric of durations by size. */
export interface HistogramDefinition extends Omit<MetricDefinition, 'read'> {
  /** A reading for each set of labels. */
  readonly read: () => readonly (readonly [labels: MetricLabels, reading: HistogramReading])[]
}

/** What runs, for `kimchi_build_info`. */
export interface Build {
  /** `api` or `ingester`. */
  readonly app: string
  readonly version: string
}

/** An app's Prometheus metrics, those of its process included. */
export interface MetricsRegistry {
  /** The value of `Content-Type` that goes with {@link MetricsRegistry.text}. */
  readonly contentType: string
  /** Reads all metrics, in Prometheus' text format. */
  text(): Promise<string>
  /** Adds a metric that can go up and down. */
  gauge(definition: MetricDefinition): void
  /** Adds a metric that only goes up; its name ends in `_total`. */
  counter(definition: MetricDefinition): void
  /** Adds durations by size; its name ends in `_seconds`. */
  histogram(definition: HistogramDefinition): void
}

/** prom-client's own gauges that break Prometheus' rule for names; `promtool check metrics` refuses them. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** A {@link MetricsRegistry} that holds what runs, and the metrics of the process and of Node. */
export function createMetricsRegistry({ app, version }: Build): MetricsRegistry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const metrics: MetricsRegistry = {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    gauge: definition => {
      const { name, help, labels = [] } = definition
      const metric: Gauge = new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        collect: () => fill(metric, definition),
      })
    },
    counter: definition => {
      const { name, help, labels = [] } = definition
      const metric: Counter = new Counter({
        name,
        help,
        labelNames: labels,
        registers,
        collect: () => fill(metric, definition),
      })
    },
    histogram: definition => registry.registerMetric(readHistogram(definition)),
  }
  metrics.gauge({
    name: 'kimchi_build_info',
    help: 'What runs, always 1.',
    labels: ['app', 'version', 'node'],
    read: () => [[{ app, version, node: process.versions.node }, 1]],
  })
  return metrics
}

/** A metric as the registry asks for it; prom-client's own histogram can only count for itself. */
function readHistogram({ name, help, read }: HistogramDefinition): Metric {
  const get = async () => ({ name, help, type: 'histogram', values: read().flatMap(lines) })
  const lines = ([labels, { buckets, count, sum }]: ReturnType<HistogramDefinition['read']>[number]) => [
    ...[...buckets, ['+Inf', count] as const].map(([le, value]) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le },
      value,
    })),
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
  return { name, get } as unknown as Metric
}

async function fill(metric: Gauge | Counter, { labels = [], read }: MetricDefinition): Promise<void> {
  const value = await read()
  // Resetting a metric without labels would leave a 0 where there is nothing to report.
  if (labels.length === 0) metric.remove()
  else metric.reset()
  if (typeof value === 'number') metric.inc(value)
  else for (const [labelValues, one] of value ?? []) metric.inc(labelValues, one)
}
