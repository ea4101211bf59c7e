import type { ProcessUse, RedisUse } from './probe.ts'

/** Everything measured at one moment. */
export interface Reading {
  /** Minutes since the load began. */
  readonly minute: number
  readonly processes: Readonly<Record<string, ProcessUse | undefined>>
  readonly redis: RedisUse | undefined
  readonly requests: number
  readonly failed: number
}

/** One row of the table. */
interface Series {
  readonly name: string
  readonly unit: string
  readonly of: (reading: Reading) => number | undefined
}

/** How much the memory of a long run may grow between its middle and its last third, MB. */
const MAX_GROWTH_MB = 5

/** A shorter run says nothing about slopes: caches, pools and heaps are still filling. */
const SLOPE_FROM_MINUTES = 15

function seriesOf(names: readonly string[]): Series[] {
  return [
    ...names.flatMap((name): Series[] => [
      { name: `${name} memory`, unit: 'MB', of: ({ processes }) => processes[name]?.rssMb },
      { name: `${name} sockets`, unit: '', of: ({ processes }) => processes[name]?.sockets },
      { name: `${name} handles`, unit: '', of: ({ processes }) => processes[name]?.handles },
    ]),
    { name: 'Redis memory', unit: 'MB', of: ({ redis }) => redis?.usedMb },
    { name: 'Redis keys', unit: '', of: ({ redis }) => redis?.keys },
    { name: 'Redis clients', unit: '', of: ({ redis }) => redis?.clients },
    { name: 'requests', unit: '', of: ({ requests }) => requests },
    { name: 'failed', unit: '', of: ({ failed }) => failed },
  ]
}

/** A row per series: the median of each third of the run, and the largest value. */
export function tableOf(readings: readonly Reading[]): Record<string, string>[] {
  const thirds = [0, 1, 2].map(third => thirdOf(readings, third))
  return seriesOf(namesOf(readings)).map(({ name, unit, of }) => ({
    '': unit ? `${name}, ${unit}` : name,
    'first third': shown(median(thirds[0] ?? [], of)),
    'second third': shown(median(thirds[1] ?? [], of)),
    'last third': shown(median(thirds[2] ?? [], of)),
    largest: shown(Math.max(...readings.map(reading => of(reading) ?? 0))),
  }))
}

/** Processes whose memory still grows late in a long run, in words; none in a short one. */
export function growthOf(readings: readonly Reading[]): string[] {
  if ((readings.at(-1)?.minute ?? 0) < SLOPE_FROM_MINUTES) return []
  return namesOf(readings).flatMap(name => {
    const memory = ({ processes }: Reading) => processes[name]?.rssMb
    const growth = median(thirdOf(readings, 2), memory) - median(thirdOf(readings, 1), memory)
    return growth > MAX_GROWTH_MB ? [`${name} grew by ${growth.toFixed(1)} MB in the last third`] : []
  })
}

function namesOf([first]: readonly Reading[]): string[] {
  return Object.keys(first?.processes ?? {})
}

function thirdOf(readings: readonly Reading[], third: number): readonly Reading[] {
  const at = (part: number) => Math.round((readings.length * part) / 3)
  return readings.slice(at(third), at(third + 1))
}

function median(readings: readonly Reading[], of: Series['of']): number {
  const values = readings
    .map(of)
    .filter(value => value !== undefined)
    .sort((a, b) => a - b)
  return values[values.length >> 1] ?? Number.NaN
}

function shown(value: number): string {
  return Number.isNaN(value) ? '-' : value.toLocaleString('en', { maximumFractionDigits: 1 })
}
