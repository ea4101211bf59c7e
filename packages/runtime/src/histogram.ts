/** Upper bounds of buckets, in seconds: powers of four from 16 µs to 4.2 s. */
const BUCKETS = Array.from({ length: 10 }, (_, n) => (16 * 4 ** n) / 1e6)

export type MetricLabels = Readonly<Record<string, string | number>>

/**
 * Durations by size, as a Prometheus histogram. prom-client's makes text of the labels and of a bucket's bound in each
 * call, and so took 5 to 9 % of a request's processor time.
 */
export class Histogram {
  readonly name: string
  readonly help: string
  readonly #series = new Map<string, Durations>()

  /** @param name ends in `_seconds` */
  constructor(name: string, help: string) {
    this.name = name
    this.help = help
  }

  /** @param labels may be empty */
  labelled(labels: MetricLabels): Durations {
    const key = JSON.stringify(labels)
    const durations = this.#series.get(key) ?? new Durations(labels)
    this.#series.set(key, durations)
    return durations
  }

  /** For each set of labels its buckets, sum and count. */
  read(): readonly (readonly [labels: MetricLabels, value: number, name: string])[] {
    return [...this.#series.values()].flatMap(({ labels, counts, sum }) => {
      let count = 0
      const buckets = counts.map((some, bucket) => {
        count += some
        return [{ le: BUCKETS[bucket] ?? '+Inf', ...labels }, count, `${this.name}_bucket`] as const
      })
      return [...buckets, [labels, sum, `${this.name}_sum`], [labels, count, `${this.name}_count`]] as const
    })
  }
}

/** Durations with the same labels. */
export class Durations {
  readonly labels: MetricLabels
  /** How many fell into each bucket, and above the last one. */
  readonly counts: number[] = new Array(BUCKETS.length + 1).fill(0)
  sum = 0

  constructor(labels: MetricLabels) {
    this.labels = labels
  }

  observe(seconds: number): void {
    let bucket = 0
    while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
    this.counts[bucket] = Number(this.counts[bucket]) + 1
    this.sum += seconds
  }
}
