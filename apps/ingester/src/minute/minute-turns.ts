import {
  type Context,
  type EpochMinute,
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

/** Longest uninterrupted wait, so that a stepped wall clock is noticed within a second. */
const LONGEST_WAIT_MS: Milliseconds = 1_000

/** After a pause of the process, frames that are still in the socket buffers get this long to come in first. */
const DRAIN_MS: Milliseconds = 50
const PAUSED_BY_MS: Milliseconds = 200

/** A minute whose snapshot is due now. */
export interface MinuteTurn {
  readonly minute: EpochMinute
  /** How much later than M + 2 s it is. */
  readonly lateMs: Milliseconds
  /** How far the wall clock moved away from elapsed time since the turn before, in either direction. */
  readonly steppedMs: Milliseconds
  /** Minutes passed over since the turn before, because the machine slept or its clock stepped forward. */
  readonly skipped: number
}

/**
 * Yields each minute M once, from M + 2 s of the wall clock as soon as it is complete, by M + 5 s whether
 * complete or not. Ends when `signal` aborts. A clock that steps back goes on from where it stands.
 * @param untilComplete resolves when the streams have passed the minute; it may never
 */
export async function* minuteTurns(
  untilComplete: (minute: EpochMinute) => Promise<void>,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): AsyncGenerator<MinuteTurn, void, void> {
  const dueAt = (minute: EpochMinute) => minuteStart(minute) + EARLIEST_SNAPSHOT_MS
  const lastDue = () => minuteOf(clock.now() - EARLIEST_SNAPSHOT_MS)
  const wallLead = () => clock.now() - clock.elapsed()
  let last = lastDue()
  let lead = wallLead()
  let steppedMs = 0
  const wait = async (ms: Milliseconds, over: AbortSignal = signal) => {
    await clock.wait(ms, over)
    // A pause of the process moves both clocks alike.
    steppedMs = Math.max(steppedMs, Math.abs(wallLead() - lead))
    lead = wallLead()
  }
  while (!signal.aborted) {
    const waitMs = dueAt(last + 1) - clock.now()
    const hasSteppedBack = waitMs > MINUTE_MS
    if (hasSteppedBack) last = lastDue()
    if (waitMs > 0) {
      await wait(Math.min(waitMs, LONGEST_WAIT_MS))
      continue
    }
    if (-waitMs > PAUSED_BY_MS) await wait(DRAIN_MS)
    const minute = lastDue()
    const skipped = minute - last - 1
    last = minute
    const complete = new AbortController()
    void untilComplete(minute).then(() => complete.abort())
    await wait(LATEST_SNAPSHOT_MS - EARLIEST_SNAPSHOT_MS, complete.signal)
    if (signal.aborted) return
    yield { minute, lateMs: clock.now() - dueAt(minute), steppedMs, skipped }
    steppedMs = 0
  }
}
