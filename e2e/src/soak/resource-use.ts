import { ask, type RawRedis } from '@kimchi/testkit'

/** Everything measured at one moment, by name and unit; Redis is missing while it does not answer. */
export type Reading = Readonly<Record<string, number>>

const MEMORY = 'memory, MB'

/** How much the memory of a long run may grow between its middle and its last third, MB. */
const MAX_GROWTH_MB = 5

/** A shorter run says nothing about slopes: caches, pools and heaps are still filling. */
const SLOPE_FROM_MINUTES = 15

/**
 * What the apps say of themselves at `/metrics`, and Redis of itself. Leaves Redis out while it does not
 * answer; an app that does not answer ends the run.
 */
export async function readResourceUse(
  opsPorts: Readonly<Record<string, number>>,
  redis: RawRedis,
): Promise<Reading> {
  const readings: Record<string, number> = {}
  for (const [app, port] of Object.entries(opsPorts)) {
    const text = (await ask(port, '/metrics')).body.toString()
    const figure = (metric: string) => Number(new RegExp(`^${metric} (.+)$`, 'm').exec(text)?.[1])
    readings[`${app} ${MEMORY}`] = figure('process_resident_memory_bytes') / 1e6
    // Open files, sockets included.
    readings[`${app} handles`] = figure('process_open_fds')
  }
  const info = await redis.info().catch(() => '')
  if (info === '') return readings
  const figure = (name: RegExp) => Number(name.exec(info)?.[1])
  return {
    ...readings,
    [`Redis ${MEMORY}`]: figure(/used_memory:(\d+)/) / 1e6,
    'Redis keys': figure(/keys=(\d+)/),
    'Redis clients': figure(/connected_clients:(\d+)/),
  }
}

/** A row per name: the median of each third of the run, and the largest value. */
export function resourceTable(readings: readonly Reading[]): Record<string, string>[] {
  return namesOf(readings).map(name => {
    const [first = '', second = '', last = ''] = [0, 1, 2].map(third =>
      shown(medianOf(readings, name, third)),
    )
    const largest = shown(Math.max(...readings.map(reading => reading[name] ?? 0)))
    return { '': name, 'first third': first, 'second third': second, 'last third': last, largest }
  })
}

/** Messages about processes whose memory still grows late in the run; none for runs under 15 minutes. */
export function memoryGrowth(readings: readonly Reading[], minutes: number): string[] {
  if (minutes < SLOPE_FROM_MINUTES) return []
  return namesOf(readings).flatMap(name => {
    const growth = medianOf(readings, name, 2) - medianOf(readings, name, 1)
    return name.endsWith(MEMORY) && growth > MAX_GROWTH_MB
      ? [`${name}: grew by ${growth.toFixed(1)} MB from the middle third to the last`]
      : []
  })
}

function namesOf(readings: readonly Reading[]): string[] {
  return [...new Set(readings.flatMap(Object.keys))]
}

function medianOf(readings: readonly Reading[], name: string, third: number): number {
  const at = (part: number) => Math.round((readings.length * part) / 3)
  const values = readings.slice(at(third), at(third + 1)).flatMap(reading => reading[name] ?? [])
  return values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

function shown(value: number): string {
  return Number.isNaN(value) ? '-' : value.toLocaleString('en', { maximumFractionDigits: 1 })
}
