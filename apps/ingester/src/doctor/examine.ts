import type { Context, Milliseconds } from '@kimchi/core'
import { binanceChecks } from './checks/binance-stream.ts'
import { candleChecks } from './checks/candles.ts'
import { baseChecks } from './checks/connectivity.ts'
import { listChecks } from './checks/lists.ts'
import { upbitChecks } from './checks/upbit-stream.ts'
import type { Finding } from './finding.ts'
import type { DoctorOptions } from './instruments.ts'
import { observe } from './observe.ts'
import { emptyWorld } from './world.ts'

/** All checks end within 180 s; closing the connections needs part of that. */
const DEADLINE_MS: Milliseconds = 176_000

/** Everything that the doctor asks, in the order of its lines. */
export const CHECKS = [...baseChecks, ...listChecks, ...upbitChecks, ...binanceChecks, ...candleChecks]

/**
 * Asks the exchanges whether what the service assumes of them is so. Resolves within 180 s, whatever they do.
 * @see docs/exchanges.md#unconfirmed
 */
export async function examine(options: DoctorOptions, context: Omit<Context, 'signal'>): Promise<Finding[]> {
  const ending = new AbortController()
  const over = new AbortController()
  void context.clock.wait(DEADLINE_MS, over.signal).then(() => ending.abort())
  const world = emptyWorld()
  try {
    await observe(world, options, { ...context, signal: ending.signal })
  } finally {
    over.abort()
  }
  return CHECKS.map(({ check, expected, judge }) => ({ check, expected, ...judge(world) }))
}
