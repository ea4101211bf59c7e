import { fileURLToPath } from 'node:url'
import { DAY_MS, type EpochMs, MINUTE_MS } from '@kimchi/core'
import { type Simulator, startSimulator } from '@kimchi/simulator'
import { startProgram, startRedis, type Teardown } from '@kimchi/testkit'
import { createFastClock } from './fast-clock.ts'

export interface TestbedOptions {
  /** Milliseconds of its clock per real one. @default 20 */
  readonly factor?: number
  /** Where its clock starts. @default ten minutes after the last UTC midnight, with one whole day to fill */
  readonly startAt?: EpochMs
  /** Tracked coins; KNC trades on Upbit once in twenty minutes. @default BTC, ETH, XRP, KNC */
  readonly coins?: readonly string[]
}

const MAIN = fileURLToPath(new URL('../dist/fast-ingester.js', import.meta.url))

/**
 * Starts Redis, and the exchanges on a clock that runs faster; the test starts any number of real
 * ingester processes. Everything ends with it.
 */
export async function openTestbed(t: Teardown, options: TestbedOptions = {}) {
  const { factor = 20, coins = ['BTC', 'ETH', 'XRP', 'KNC'] } = options
  const redis = await startRedis(t)
  const { startAt = Math.floor(Date.now() / DAY_MS) * DAY_MS + 10 * MINUTE_MS } = options
  const clock = createFastClock(startAt, factor)
  // Half a second by the clock of most beds, as late as frames may come; each turn costs processor time.
  const exchanges: Simulator = await startSimulator({ seed: 'fault', clock, pumpMs: 25, limits: false })
  t.teardown(() => exchanges.close())
  return {
    redis,
    raw: redis.client(),
    exchanges,
    /** Starts an ingester process. */
    start(id: string, env: Record<string, string> = {}) {
      const fixed = {
        FAST_CLOCK: JSON.stringify(clock),
        INGESTER_ID: id,
        REDIS_URL: redis.url,
        ...exchanges.env,
      }
      const settings = { PRICES: 'simulated', COINS: coins.join(','), BACKFILL_DAYS: '1', OPS_PORT: '0' }
      // The IPC channel ends the process when this one is gone.
      const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] satisfies ('ignore' | 'pipe' | 'ipc')[]
      return startProgram(t, [MAIN], { ...fixed, ...settings, ...env }, { stdio })
    },
  }
}
