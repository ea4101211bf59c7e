import { fileURLToPath } from 'node:url'
import { DAY_MINUTES, DAY_MS, dayStart, type EpochMs, MINUTE_MS, minuteOf } from '@kimchi/core'
import { type Simulator, startSimulator } from '@kimchi/simulator'
import {
  type AuditResult,
  audit,
  eventually,
  type Program,
  startProgram,
  startRedis,
  type Teardown,
} from '@kimchi/testkit'
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

/** The newest minutes are left to the live feeds. @see docs/architecture.md#ingester */
const LEFT_TO_LIVE = 6

/** That many minutes after the last UTC midnight. */
function fromMidnight(minutes: number): EpochMs {
  return Math.floor(Date.now() / DAY_MS) * DAY_MS + minutes * MINUTE_MS
}

/**
 * Starts Redis, and the exchanges on a clock that runs faster; the test starts any number of real
 * ingester processes. Everything ends with it.
 */
export async function openTestbed(t: Teardown, options: TestbedOptions = {}) {
  const { factor = 20, coins = ['BTC', 'ETH', 'XRP', 'KNC'] } = options
  const redis = await startRedis(t)
  const raw = redis.client()
  const clock = createFastClock(options.startAt ?? fromMidnight(10), factor)
  // Half a second by the clock of most beds, as late as frames may come; each turn costs processor time.
  const exchanges: Simulator = await startSimulator({ seed: 'fault', clock, pumpMs: 25, limits: false })
  t.teardown(() => exchanges.close())
  const running = new Set<Program>()
  /** Starts an ingester process. @param id stays the same when it is started again */
  const start = (id: string, env: Record<string, string> = {}) => {
    const fixed = {
      FAST_CLOCK: JSON.stringify(clock),
      INGESTER_ID: id,
      REDIS_URL: redis.url,
      ...exchanges.env,
    }
    const settings = { PRICES: 'simulated', COINS: coins.join(','), BACKFILL_DAYS: '1', OPS_PORT: '0' }
    // The IPC channel ends the process when this one is gone.
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] satisfies ('ignore' | 'pipe' | 'ipc')[]
    const ingester = startProgram(t, [MAIN], { ...fixed, ...settings, ...env }, { stdio })
    running.add(ingester)
    return ingester
  }
  /** Ends all ingesters at once. */
  const killAll = async () => {
    await Promise.all([...running].map(ingester => ingester.end('SIGKILL')))
    running.clear()
  }
  const auditTo = (to: number) =>
    audit({
      redis: raw,
      truth: exchanges,
      coins,
      // The oldest minute that BACKFILL_DAYS=1 fills.
      from: dayStart(minuteOf(clock.now())) - DAY_MINUTES,
      to,
    })
  /** Resolves when all that can be stored before a minute is, and is right. */
  const untilFilled = (to: number) => {
    const isWhole = async () => {
      const { lost, wrong } = await auditTo(to).catch(() => ({ lost: 1, wrong: 0 }))
      return lost + wrong === 0
    }
    return eventually('all is right', isWhole, undefined, 1_000)
  }
  return {
    redis,
    raw,
    exchanges,
    start,
    /** Starts a last ingester, waits until it has filled what can be filled, and audits everything. */
    async settle(): Promise<AuditResult> {
      await killAll()
      const to = minuteOf(clock.now()) - LEFT_TO_LIVE
      start('last')
      // What is still missing or wrong after that is the audit's to judge; a day row may first have to be repaired.
      await untilFilled(to).catch(() => {})
      await killAll()
      return auditTo(to)
    },
  }
}
