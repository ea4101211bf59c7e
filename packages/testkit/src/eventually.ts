import { setTimeout as delay } from 'node:timers/promises'
import type { Milliseconds } from '@kimchi/core'
import type { ManualClock } from './manual-clock.ts'
import { untilIdle } from './until-idle.ts'

const LONGEST_MS: Milliseconds = 180_000

/** What a test waits for; undefined or false while it is not there. */
export type Sought<T> = T | undefined | false

/**
 * Asks again and again until the answer is neither undefined nor false.
 * @param withinMs real time. @default 3 min: a busy machine is slow, and only a failure takes this long
 * @param pauseMs between two questions, real time. @default a twentieth of the wait so far, 10 to 100
 * @throws Error naming `what`, when that takes longer
 */
export async function eventually<T>(
  what: string,
  ask: () => Sought<T> | Promise<Sought<T>>,
  withinMs: Milliseconds = LONGEST_MS,
  pauseMs?: Milliseconds,
): Promise<T> {
  const start = performance.now()
  for (let waited = 0; waited < withinMs; waited = performance.now() - start) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    // Asking costs time too, and after a long wait a longer pause hardly matters.
    await delay(pauseMs ?? Math.min(Math.max(waited / 20, 10), 100))
  }
  throw new Error(`not within ${withinMs} ms: ${what}`)
}

/**
 * Lets a manual clock run while something waits for it, until the answer is neither undefined nor false; it
 * stands still while work is under way, held or between sockets of this process.
 * @param stepMs how far the clock goes at a time. @default 250
 * @throws Error naming `what`, after 3 min of real time
 */
export function passUntil<T>(
  clock: ManualClock,
  what: string,
  ask: () => Sought<T> | Promise<Sought<T>>,
  stepMs: Milliseconds = 250,
): Promise<T> {
  const askOrPass = async () => {
    await untilIdle()
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (clock.waiting > 0) await clock.advance(stepMs)
    return undefined
  }
  return eventually(what, askOrPass, LONGEST_MS, 1)
}
