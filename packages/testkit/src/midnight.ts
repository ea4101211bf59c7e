import { setTimeout as delay } from 'node:timers/promises'
import { DAY_MS, type EpochMs, type Milliseconds } from '@kimchi/core'

/** A test that needs "today" to stay the same ends within this time. */
const NEEDED_MS: Milliseconds = 60_000

/** Waits over a UTC midnight that is near, so that "today" stays today for the length of a test. */
export async function stayClearOfMidnight(now: EpochMs): Promise<void> {
  const left = DAY_MS - (now % DAY_MS)
  if (left < NEEDED_MS) await delay(left)
}
