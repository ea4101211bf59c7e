import { Histogram } from 'prom-client'

/** Upper bounds, in seconds: powers of four from 16 µs to 4.2 s. */
const buckets = Array.from({ length: 10 }, (_, n) => (16 * 4 ** n) / 1e6)

/**
 * Durations by size and label, for a registry that is given them.
 * @param name ends in `_seconds`
 */
export function durationHistogram<Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
) {
  return new Histogram({ name, help, labelNames, buckets, registers: [] })
}
