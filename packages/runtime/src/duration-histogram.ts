import type { Milliseconds } from '@kimchi/core'

/** Upper bounds of the first and the last bucket, as powers of two microseconds: 16 µs and 4.2 s. */
const FIRST = 4
const LAST = 22

const MOST_MICROS = 2 ** 31

/** Durations by size at one instant, in seconds, as Prometheus has them. */
export interface HistogramReading {
  /** How many took this long or less, by bound; each bucket holds those before it. */
  readonly buckets: readonly (readonly [bound: number, count: number])[]
  readonly count: number
  readonly sum: number
}

/** Durations counted by size. */
export interface DurationHistogram {
  /** Counts one. Costs a few nanoseconds: buckets are powers of two, so that none has to be searched. */
  observe(ms: Milliseconds): void
  read(): HistogramReading
}

/** A {@link DurationHistogram} that has counted nothing. */
export function createDurationHistogram(): DurationHistogram {
  const counts = new Float64Array(LAST - FIRST + 2)
  let sumMs = 0
  return {
    observe: ms => {
      const power = 32 - Math.clz32(Math.min(ms * 1_000, MOST_MICROS))
      const index = Math.min(Math.max(power - FIRST, 0), counts.length - 1)
      counts[index] = (counts[index] ?? 0) + 1
      sumMs += ms
    },
    read: () => {
      let count = 0
      const all = Array.from(counts, (own, index) => {
        count += own
        return [2 ** (FIRST + index) / 1e6, count] as const
      })
      return { buckets: all.slice(0, -1), count, sum: sumMs / 1_000 }
    },
  }
}
