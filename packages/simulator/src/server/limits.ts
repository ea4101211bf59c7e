import type { EpochMs, Milliseconds } from '../market/types.ts'

/** Adds `weight` for a caller and returns its sum in the window of the clock that holds `now`. */
export type WindowCounter = (caller: string, now: EpochMs, weight?: number) => number

/** A counter whose windows are `windowMs` long and begin at multiples of it. */
export function createWindowCounter(windowMs: Milliseconds): WindowCounter {
  let current = -1
  let sums = new Map<string, number>()
  return (caller, now, weight = 1) => {
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
