import type { EpochMs, Milliseconds } from '../market/types.ts'

/**
 * Counts for limits: adds a caller's weight and returns its sum in the present window of the clock. Windows are
 * `windowMs` long and begin at multiples of it.
 */
export function createWindowCounter(windowMs: Milliseconds) {
  let current = -1
  let sums = new Map<string, number>()
  return (caller: string, now: EpochMs, weight = 1): number => {
    const index = Math.floor(now / windowMs)
    if (index !== current) {
      current = index
      sums = new Map()
    }
    const sum = (sums.get(caller) ?? 0) + weight
    sums.set(caller, sum)
    return sum
  }
}
