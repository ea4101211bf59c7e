import { collectDefaultMetrics, Histogram, type Metric, Registry } from 'prom-client'

/** One value, a value for each set of labels, or undefined: nothing to report. */
export type MetricValue = number | undefined | readonly LabelledValue[]

type LabelledValue = readonly [labels: Readonly<Record<string, string | number>>, value: number]

export interface MetricDefinition {
  readonly name: string
  readonly help: string
  /** Gives the value whenever the metrics are read, so that counting costs the app nothing in between. */
  readonly read: () => MetricValue | Promise<MetricValue>
}

/** Of `nodejs_active_*_total`: gauges of prom-client whose names `promtool check metrics` refuses. */
const MISNAMED = ['handles', 'requests', 'resources']

/** Upper bounds in seconds: powers of four from 16 µs to 4.2 s. */
const BUCKETS = Array.from({ length: 10 }, (_, n) => (16 * 4 ** n) / 1e6)

/** Durations by size, for a registry to be added to. @param name ends in `_seconds` */
export function createHistogram<Label extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
) {
  return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [] })
}

/** An app's Prometheus metrics: what runs, the metrics of its process and of Node, and those that the app adds. */
export class MetricsRegistry extends Registry {
  /** @param build what runs, for `kimchi_build_info` */
  constructor(build: { readonly app: string; readonly version: string }) {
    super()
    collectDefaultMetrics({ register: this })
    for (const name of MISNAMED) this.removeSingleMetric(`nodejs_active_${name}_total`)
    this.add('gauge', {
      name: 'kimchi_build_info',
      help: 'What runs, always 1.',
      read: () => [[{ ...build, node: process.versions.node }, 1]],
    })
  }

  /** Adds a metric: a gauge can go up and down, a counter, whose name ends in `_total`, only up. */
  add(type: 'gauge' | 'counter', metric: MetricDefinition): void {
    const { name, help } = metric
    const get = async () => {
      const read = await metric.read()
      const series: readonly LabelledValue[] = typeof read === 'number' ? [[{}, read]] : (read ?? [])
      const values = series.map(([labels, value]) => ({ labels, value }))
      return { name, help, type, values }
    }
    // prom-client prints whatever gives its values as the library's own metrics do.
    this.registerMetric({ name, get } as unknown as Metric)
  }
}
