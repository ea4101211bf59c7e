import {
  type Context,
  type EpochMinute,
  type LatestTicks,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  minuteStart,
} from '@kimchi/core'

/**
 * How long after M its snapshot is taken at the earliest, so that late frames that belong before M still
 * count.
 */
const EARLIEST_SNAPSHOT_MS: Milliseconds = 2_000

/** How long after M the exchanges' streams may take to pass it. */
const LATEST_SNAPSHOT_MS: Milliseconds = 5_000

/** How often we look meanwhile whether they have. */
const LOOK_EVERY_MS: Milliseconds = 50

/** Longest uninterrupted wait, so that a stepped wall clock is noticed within a second. */
const LONGEST_WAIT_MS: Milliseconds = 1_000

/** A minute whose snapshot is due now. */
export interface MinuteTurn {
  readonly minute: EpochMinute
  /** How much later than M + 2 s it is. */
  readonly lateMs: Milliseconds
}

/**
 * Yields each minute M once, from M + 2 s of the wall clock as soon as the streams have passed it, by M + 5 s whether
 * they have or not. Ends when `signal` aborts. A clock that steps back goes on from where it stands.
 */
export async function* minuteTurns(
  latest: Pick<LatestTicks, 'havePassed'>,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): AsyncGenerator<MinuteTurn, void, void> {
  const dueAt = (minute: EpochMinute) => minuteStart(minute) + EARLIEST_SNAPSHOT_MS
  const lastDue = () => minuteOf(clock.now() - EARLIEST_SNAPSHOT_MS)
  let last = lastDue()
  while (!signal.aborted) {
    const waitMs = dueAt(last + 1) - clock.now()
    const hasSteppedBack = waitMs > MINUTE_MS
    if (hasSteppedBack) last = lastDue()
    if (waitMs > 0) {
      await clock.wait(Math.min(waitMs, LONGEST_WAIT_MS), signal)
      continue
    }
    const minute = lastDue()
    last = minute
    const giveUpAt = clock.elapsed() + LATEST_SNAPSHOT_MS - EARLIEST_SNAPSHOT_MS
    while (!latest.havePassed(minute) && clock.elapsed() < giveUpAt && !signal.aborted)
      await clock.wait(LOOK_EVERY_MS, signal)
    if (signal.aborted) return
    yield { minute, lateMs: clock.now() - dueAt(minute) }
  }
}
