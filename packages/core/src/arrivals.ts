import type { Interruption, Tick } from './tick.ts'
import { minuteOf } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** A frame counts as early or late when its receive and send times are further apart than this. */
export const MAX_LAG_MS: Milliseconds = 2_000

/** A frame that is dated so much nearer to its receipt than is usual is dated ahead of the exchange's own stream. */
const MAX_LEAD_MS: Milliseconds = 500

/** A longer silence may have swallowed frames. */
const MAX_SILENCE_MS: Milliseconds = 3_000

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

/** How its stream was heard before a frame of data. */
export interface Heard {
  /** When the frame before it came, on whichever connection. @default it is the first */
  readonly lastAt?: EpochMs | undefined
  /** When its connection was opened. @default another frame of that has been read */
  readonly openedAt?: EpochMs | undefined
}

/** Judges how the frames of an exchange arrive: late, ahead of time, or after others that may have been lost. */
export class Arrivals {
  #kept: LagCounts[] = []
  /** The lag that three frames in four exceed: our clock's error and the usual way; undefined at first. */
  #usual: Milliseconds | undefined
  /** Whether the last frame of data was late. */
  #wasLate = false

  /** Judges a tick by those before it. A SNAPSHOT repeats the past, and a seed has no time of the exchange's. */
  judge({ origin, eventAt, sentAt, receivedAt }: Tick, heard: Heard) {
    const isStream = origin === 'stream'
    const isLate = isStream && receivedAt - (sentAt ?? eventAt) > MAX_LAG_MS + Math.min(0, this.#usual ?? 0)
    const least = Math.max(-MAX_LAG_MS, (this.#usual ?? Number.NEGATIVE_INFINITY) - MAX_LEAD_MS)
    return {
      /**
       * Whether it is dated ahead of its exchange's own stream by more than half a second, or of our clock by more than
       * 2 s. A clock of ours that is behind shifts all frames alike. Negated, so that NaN is ahead too.
       */
      isAhead: origin !== 'seed' && !(receivedAt - eventAt >= least),
      /** Whether a stream's frame was on its way for more than 2 s; where our clock is behind, the way looks shorter. */
      isLate,
      /** Whether most frames received in its minute so far were early, or most late; undefined where it doesn't tell. */
      isSkewed: isStream && sentAt !== undefined ? this.#count(receivedAt, sentAt) : undefined,
      /** Undefined where nothing was lost before it. */
      interruption: isStream ? this.#interruptionAt(receivedAt, isLate, heard) : undefined,
    }
  }

  /**
   * The one rule for what may have been lost before a frame of data. Frames may be lost between two connections, in a
   * silence of more than 3 s, where our clock steps, and as long as frames come late: what lies in a buffer is old, and
   * what did not fit into it is gone. A late frame belongs to the interruption, which ends with the next fresh one.
   */
  #interruptionAt(
    receivedAt: EpochMs,
    isLate: boolean,
    { lastAt, openedAt }: Heard,
  ): Interruption | undefined {
    const quietFrom = openedAt ?? lastAt ?? receivedAt
    const isClockBack = receivedAt < Math.max(quietFrom, lastAt ?? receivedAt)
    const isSilence = isClockBack || receivedAt - quietFrom > MAX_SILENCE_MS
    const wasLate = openedAt === undefined && this.#wasLate
    this.#wasLate = isLate
    const isBroken = isSilence || isLate || wasLate
    // Prices of a new connection count from its opening: Upbit's begins with snapshots.
    const pricesFrom = isBroken ? receivedAt : openedAt
    if (pricesFrom === undefined) return undefined
    return { pricesFrom, isClockBack, isSilence, isSeedWanted: isBroken && !isLate }
  }

  #count(receivedAt: EpochMs, sentAt: EpochMs): boolean {
    const minute = minuteOf(receivedAt)
    let counts = this.#kept.at(-1)
    if (counts?.minute !== minute) {
      counts = { minute, steps: new Uint32Array(2 * STEPS + 1), early: 0, late: 0, total: 0 }
      this.#kept = [...this.#kept.slice(1 - MINUTES_KEPT), counts]
    }
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
