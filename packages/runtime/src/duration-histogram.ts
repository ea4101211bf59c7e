import type { Milliseconds } from '@kimchi/core'

/** Upper bounds of the first and the last bucket, as powers of two microseconds: 16 µs and 4.2 s. */
const FIRST = 4
const LAST = 22

const MOST_MICROS = 2 ** 31

/** Durations by size at one instant, in seconds, as Prometheus has them. */
export interface HistogramReading {
  /** How many were this long or shorter, by bound; each bucket includes the smaller ones. */
  readonly buckets: readonly (readonly [bound: number, count: number])[]
  readonly count: number
  readonly sum: number
}

/** Durations counted by size. */
export class DurationHistogram {
  readonly #counts = new Float64Array(LAST - FIRST + 2)
  #sumMs = 0

  /** Counts one. Costs a few nanoseconds: the bounds are powers of two, so no bucket has to be searched for. */
  observe(ms: Milliseconds): void {
    const power = 32 - Math.clz32(Math.min(ms * 1_000, MOST_MICROS))
    const index = Math.min(Math.max(power - FIRST, 0), this.#counts.length - 1)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#sumMs += ms
  }

  read(): HistogramReading {
    let count = 0
    const buckets = Array.from(this.#counts, (own, index) => {
      count += own
      return [2 ** (FIRST + index) / 1e6, count] as const
    })
    return { buckets: buckets.slice(0, -1), count, sum: this.#sumMs / 1_000 }
  }
}
