import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * A stream is checked 30 times within `stallAfterMs`, and has stalled when 28 checks in a row found no new data:
 * this leaves time for the first retry within the limit.
 */
const CHECKS = 30
const STALL_CHECKS = 28

/**
 * Resolves when no data has come for nearly `stallAfterMs` of elapsed time, or when the signal aborts. It counts
 * checks instead of reading a clock, so that a process that was frozen receives its frames before it decides.
 * @param dataFrames how many have come so far
 */
export async function untilStalled(
  dataFrames: () => number,
  stallAfterMs: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let seen = dataFrames()
  for (let silent = 0; silent < STALL_CHECKS && !signal.aborted; ) {
    await clock.wait(stallAfterMs / CHECKS, signal)
    silent = dataFrames() === seen ? silent + 1 : 0
    seen = dataFrames()
  }
}
