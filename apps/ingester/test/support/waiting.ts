import { setTimeout as delay } from 'node:timers/promises'
import type { ManualClock } from '@kimchi/core/testing'

/** Waits for a condition that something under way will bring about; fails loudly when it does not come. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await delay(5)
  }
}

/**
 * Lets the clock run whenever somebody waits for it, until something happens; it stands still while work is
 * under way.
 */
export async function passUntil(
  clock: ManualClock,
  what: string,
  condition: () => boolean | Promise<boolean>,
  stepMs = 250,
): Promise<void> {
  const giveUpAt = Date.now() + 30_000
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`waited 30 s in vain: ${what}`)
    if (clock.waiting > 0) await clock.advance(stepMs)
    await delay(1)
  }
}
