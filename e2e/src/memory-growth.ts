/** What processes and Redis had at an instant, MB by name. */
export type MemoryReading = Readonly<Record<string, number>>

/** How much the memory of a long run may grow between its middle and its last third, MB. */
const MAX_GROWTH_MB = 5

/** A shorter run says nothing about slopes: caches, pools and heaps are still filling. */
const SLOPE_FROM_MINUTES = 15

/** The median of each third of a run, by name. */
export function memoryTable(readings: readonly MemoryReading[]): Record<string, number[]> {
  const at = (part: number) => Math.round((readings.length * part) / 3)
  const medianOf = (name: string, third: number) => {
    const values = readings.slice(at(third), at(third + 1)).map(reading => reading[name] ?? Number.NaN)
    return values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  }
  const names = Object.keys(readings[0] ?? {})
  return Object.fromEntries(names.map(name => [name, [0, 1, 2].map(third => medianOf(name, third))]))
}

/** Names what still grows late in the run; nothing in runs under 15 minutes. */
export function memoryGrowth(readings: readonly MemoryReading[], minutes: number): string[] {
  if (minutes < SLOPE_FROM_MINUTES) return []
  return Object.entries(memoryTable(readings)).flatMap(([name, [, middle = 0, last = 0]]) =>
    last - middle <= MAX_GROWTH_MB
      ? []
      : [`${name}: grew by ${(last - middle).toFixed(1)} MB from the middle third to the last`],
  )
}
