import type { Tick } from './tick.ts'
import { minuteOf } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** A frame counts as early or late when its receive and send times are further apart than this. */
export const MAX_LAG_MS: Milliseconds = 2_000

/** A frame that is dated so much nearer to its receipt than is usual is dated ahead of the exchange's own stream. */
const MAX_LEAD_MS: Milliseconds = 500

/** The usual lag is learnt again after this many frames. */
const FRAMES_TO_LEARN = 20

const MINUTES_KEPT = 3

/** Lags are counted in steps, those beyond ±3 s with the last ones. */
const STEP_MS: Milliseconds = 50
const STEPS = 60

/** The frames received in one minute, as counts, which are cheap at thousands of frames a second. */
interface LagCounts {
  readonly minute: EpochMinute
  readonly steps: Uint32Array
  early: number
  late: number
  total: number
}

/** What the times of a tick show. */
interface Timing {
  /**
   * Whether it is dated ahead of its exchange's own stream by more than half a second, or of our clock by more than
   * 2 s. A clock of ours that is behind shifts all frames alike.
   */
  readonly isAhead: boolean
  /** Whether a stream's frame was on its way for more than 2 s; where our clock is behind, the way looks shorter. */
  readonly isLate: boolean
  /** Whether most frames received in its minute so far were early, or most were late; undefined where it doesn't tell. */
  readonly isSkewed: boolean | undefined
}

/** Compares our clock with an exchange's, minute by minute. */
export class SkewMeter {
  #kept: LagCounts[] = []
  /** The lag that three frames in four exceed: our clock's error and the usual way; undefined at first. */
  #usual: Milliseconds | undefined

  /** Judges a tick by those before it. A SNAPSHOT repeats the past, and a seed has no time of the exchange's. */
  judge({ origin, eventAt, sentAt, receivedAt }: Tick): Timing {
    const isStream = origin === 'stream'
    const usual = this.#usual ?? 0
    const least = Math.max(-MAX_LAG_MS, (this.#usual ?? Number.NEGATIVE_INFINITY) - MAX_LEAD_MS)
    return {
      // Negated, so that NaN is ahead too.
      isAhead: origin !== 'seed' && !(receivedAt - eventAt >= least),
      isLate: isStream && receivedAt - (sentAt ?? eventAt) > MAX_LAG_MS + Math.min(0, usual),
      isSkewed: isStream && sentAt !== undefined ? this.#count(receivedAt, sentAt) : undefined,
    }
  }

  #count(receivedAt: EpochMs, sentAt: EpochMs): boolean {
    const counts = this.#countsOf(minuteOf(receivedAt))
    const lag = receivedAt - sentAt
    const step = Math.min(STEPS, Math.max(-STEPS, Math.floor(lag / STEP_MS))) + STEPS
    counts.steps[step] = (counts.steps[step] ?? 0) + 1
    counts.total += 1
    if (lag < -MAX_LAG_MS) counts.early += 1
    if (lag > MAX_LAG_MS) counts.late += 1
    // The least of the last minutes: after a bad one, frames that come as usual again must not look early.
    if (counts.total % FRAMES_TO_LEARN === 0) this.#usual = Math.min(...this.#kept.map(usualOf))
    return Math.max(counts.early, counts.late) * 2 > counts.total
  }

  #countsOf(minute: EpochMinute): LagCounts {
    const newest = this.#kept.at(-1)
    if (newest?.minute === minute) return newest
    const counts = { minute, steps: new Uint32Array(2 * STEPS + 1), early: 0, late: 0, total: 0 }
    this.#kept = [...this.#kept.slice(1 - MINUTES_KEPT), counts]
    return counts
  }
}

/** The lower quartile of a minute's lags; too few frames say nothing. */
function usualOf({ steps, total }: LagCounts): Milliseconds {
  if (total < FRAMES_TO_LEARN) return Number.POSITIVE_INFINITY
  let passed = 0
  const step = steps.findIndex(count => {
    passed += count
    return passed * 4 >= total
  })
  return (step - STEPS) * STEP_MS
}
