import { type Clock, type EpochMinute, type Milliseconds, minuteOf, minuteStart } from '@kimchi/core'

/** How long after M its snapshot is taken, so that late frames that belong before M still count. @see docs/architecture.md#samples-and-gaps */
export const GRACE_MS: Milliseconds = 1_000

/** Longest uninterrupted wait, so that a stepped wall clock is noticed within a second. */
const LONGEST_WAIT_MS: Milliseconds = 1_000

/** After a stall of the event loop, frames that are still in the socket buffers get this long to come in first. */
const DRAIN_MS: Milliseconds = 50
const STALLED_BY_MS: Milliseconds = 200

/** A minute whose snapshot is due now. */
export interface MinuteTurn {
  readonly minute: EpochMinute
  /** How much later than M + 1 s it is. */
  readonly lateMs: Milliseconds
  /** How far the wall clock moved away from elapsed time during this minute, in either direction. */
  readonly jumpedMs: Milliseconds
  /** Minutes passed over since the turn before, because the machine slept or its clock stepped forward. */
  readonly skipped: number
}

/** Yields each minute M once, at M + 1 s of the wall clock, until `signal` aborts. A clock that steps back starts anew from there. */
export async function* minuteTurns(
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<MinuteTurn, void, void> {
  let last = lastDue(clock)
  let jumpedMs = 0
  const wait = async (ms: Milliseconds) => {
    const expected = clock.now() + ms
    await clock.wait(ms, signal)
    jumpedMs = Math.max(jumpedMs, Math.abs(clock.now() - expected))
  }
  while (!signal.aborted) {
    const waitMs = dueAt(last + 1) - clock.now()
    if (waitMs > dueAt(1) - dueAt(0)) last = lastDue(clock)
    if (waitMs > 0) {
      await wait(Math.min(waitMs, LONGEST_WAIT_MS))
      continue
    }
    if (-waitMs > STALLED_BY_MS) await wait(DRAIN_MS)
    const minute = lastDue(clock)
    const skipped = minute - last - 1
    last = minute
    yield { minute, lateMs: clock.now() - dueAt(minute), jumpedMs, skipped }
    jumpedMs = 0
  }
}

function dueAt(minute: EpochMinute): number {
  return minuteStart(minute) + GRACE_MS
}

function lastDue(clock: Clock): EpochMinute {
  return minuteOf(clock.now() - GRACE_MS)
}
