import type { EpochMs, Milliseconds } from '../market/types.ts'

/** Counts events per caller in fixed windows of the clock. */
export interface WindowCounter {
  /** Adds `weight` and returns the sum in the window that holds `now`. */
  add(caller: string, now: EpochMs, weight?: number): number
}

/** A counter whose windows are `windowMs` long and begin at multiples of it. */
export function createWindowCounter(windowMs: Milliseconds): WindowCounter {
  let current = -1
  let sums = new Map<string, number>()
  return {
    add(caller, now, weight = 1) {
      const index = Math.floor(now / windowMs)
      if (index !== current) {
        current = index
        sums = new Map()
      }
      const sum = (sums.get(caller) ?? 0) + weight
      sums.set(caller, sum)
      return sum
    },
  }
}
