import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Histogram } from './histogram.ts'

/** One value, a value for each set of labels, or undefined: nothing to report. */
export type MetricValue = number | undefined | readonly (readonly [labels: MetricLabels, value: number])[]

/** Label names and their values. */
export type MetricLabels = Readonly<Record<string, string | number>>

/** A metric's name, meaning and value. */
export interface MetricDefinition {
  readonly name: string
  readonly help: string
  /** Label names. @default none */
  readonly labels?: readonly string[]
  /** Gives the value whenever the metrics are read, so that counting costs the app nothing in between. */
  readonly read: () => MetricValue | Promise<MetricValue>
}

/** Of `nodejs_active_*_total`: gauges of prom-client whose names `promtool check metrics` refuses. */
const MISNAMED = ['handles', 'requests', 'resources']

/** An app's Prometheus metrics: what runs, the metrics of its process and of Node, and those that the app adds. */
export class MetricsRegistry {
  readonly #registry = new Registry()
  readonly #histograms: Histogram[] = []

  /** @param build what runs, for `kimchi_build_info` */
  constructor(build: { readonly app: string; readonly version: string }) {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(`nodejs_active_${name}_total`)
    this.gauge({
      name: 'kimchi_build_info',
      help: 'What runs, always 1.',
      labels: ['app', 'version', 'node'],
      read: () => [[{ ...build, node: process.versions.node }, 1]],
    })
  }

  /** The value of `Content-Type` that goes with {@link text}. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** Reads all metrics, in Prometheus' text format. */
  async text(): Promise<string> {
    const text = await this.#registry.metrics()
    return text + this.#histograms.map(histogram => histogram.text()).join('')
  }

  /** Adds a metric that can go up and down. */
  gauge(definition: MetricDefinition): void {
    this.#add(Gauge, definition)
  }

  /** Adds a metric that only goes up; its name ends in `_total`. */
  counter(definition: MetricDefinition): void {
    this.#add(Counter, definition)
  }

  /** Adds durations. */
  add(histogram: Histogram): void {
    this.#histograms.push(histogram)
  }

  #add(Kind: typeof Gauge | typeof Counter, { name, help, labels = [], read }: MetricDefinition): void {
    const metric: Gauge | Counter = new Kind({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect: async () => {
        const value = await read()
        // Resetting a metric without labels would leave a 0 where there is nothing to report.
        if (labels.length === 0) metric.remove()
        else metric.reset()
        if (typeof value === 'number') metric.inc(value)
        else for (const [labelValues, one] of value ?? []) metric.inc(labelValues, one)
      },
    })
  }
}
