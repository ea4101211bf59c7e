import { minuteOf } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** A frame counts as early or late when its receive and send times are further apart than this. */
export const MAX_LAG_MS: Milliseconds = 2_000

const MINUTES_KEPT = 3

/**
 * The frames received in one minute. Their counts suffice to tell whether the median is beyond ±2 s, and are
 * cheap at thousands of frames a second.
 */
interface LagCounts {
  readonly minute: EpochMinute
  early: number
  late: number
  total: number
}

/** Compares our clock with an exchange's, minute by minute. */
export class SkewMeter {
  #kept: LagCounts[] = []

  add(receivedAt: EpochMs, sentAt: EpochMs): void {
    const minute = minuteOf(receivedAt)
    let counts = this.#kept.at(-1)
    if (counts?.minute !== minute) {
      counts = { minute, early: 0, late: 0, total: 0 }
      this.#kept = [...this.#kept.filter(other => other.minute !== minute).slice(1 - MINUTES_KEPT), counts]
    }
    const lag = receivedAt - sentAt
    counts.total += 1
    if (lag < -MAX_LAG_MS) counts.early += 1
    if (lag > MAX_LAG_MS) counts.late += 1
  }

  /** Whether most frames received in the minute that ends at M were early, or most were late. */
  skewedBefore(minute: EpochMinute): boolean {
    const counts = this.#kept.find(other => other.minute === minute - 1)
    return counts !== undefined && Math.max(counts.early, counts.late) * 2 > counts.total
  }
}
