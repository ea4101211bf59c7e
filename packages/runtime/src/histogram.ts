/** Upper bounds of buckets, in seconds: powers of four from 16 µs to 4.2 s. */
const BUCKETS = Array.from({ length: 10 }, (_, n) => (16 * 4 ** n) / 1e6)

/**
 * Durations by size, as a Prometheus histogram. Not prom-client's, which turns a bucket's bound into text three
 * times a call and so took a twentieth of the processor time of a request.
 */
export class Histogram {
  readonly #name: string
  readonly #help: string
  readonly #series = new Map<string, Durations>()

  /** @param name ends in `_seconds` */
  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  /** @param labels as Prometheus prints them, such as `route="live",status="200"`; may be empty */
  labelled(labels: string): Durations {
    const known = this.#series.get(labels)
    if (known !== undefined) return known
    const durations = new Durations()
    this.#series.set(labels, durations)
    return durations
  }

  /** In Prometheus' text format. */
  text(): string {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} histogram`]
    for (const [labels, { counts, sum }] of this.#series) {
      let count = 0
      for (const [bucket, some] of counts.entries()) {
        count += some
        const bound = `le="${BUCKETS[bucket] ?? '+Inf'}"`
        lines.push(`${this.#name}_bucket{${bound}${labels && `,${labels}`}} ${count}`)
      }
      const all = labels && `{${labels}}`
      lines.push(`${this.#name}_sum${all} ${sum}`, `${this.#name}_count${all} ${count}`)
    }
    return `${lines.join('\n')}\n`
  }
}

/** Durations with the same labels. */
export class Durations {
  /** How many fell into each bucket, and above the last one. */
  readonly counts: number[] = new Array(BUCKETS.length + 1).fill(0)
  sum = 0

  observe(seconds: number): void {
    let bucket = 0
    while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
    this.counts[bucket] = Number(this.counts[bucket]) + 1
    this.sum += seconds
  }
}
