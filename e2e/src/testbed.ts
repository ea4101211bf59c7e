import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DAY_MINUTES, DAY_MS, dayStart, HOUR_MS, MINUTE_MS, minuteOf } from '@kimchi/core'
import { type Exchange, startSimulator } from '@kimchi/simulator'
import {
  audit,
  eventually,
  type Program,
  type RawRedis,
  startProgram,
  startRedis,
  type Teardown,
  type TestRedisOptions,
  type Verdict,
} from '@kimchi/testkit'
import { createFastClock } from './fast-clock.ts'

/** How a testbed is opened. */
export interface TestbedOptions {
  /** The ingesters' REDIS_URL; may be Sentinel or Cluster. */
  readonly redisUrl: string
  /** A connection to the server that holds the data at this moment. */
  readonly raw: () => RawRedis | Promise<RawRedis>
  /** Milliseconds of its clock per real one. @default 20 */
  readonly factor?: number
  /** Where its clock starts. @default ten minutes before the last UTC midnight */
  readonly startAt?: number
  /** Tracked coins; KNC trades on Upbit once in twenty minutes. @default BTC, ETH, XRP, KNC */
  readonly coins?: readonly string[]
}

/** Both exchanges and any number of real ingester processes, on a clock that runs faster. */
export type Testbed = Awaited<ReturnType<typeof openTestbed>>

const MAIN = fileURLToPath(new URL('../dist/fast-ingester.js', import.meta.url))

/** The newest minutes are left to the live feeds. @see docs/architecture.md#ingester */
const LEFT_TO_LIVE = 6

/** An ingester learns of the end of a halt this late at most. */
const HALT_ENDS_WITHIN_MS = 150_000

/** A quiet market's last frame before a minute may be this much older: no price is carried for longer. */
const LONGEST_CARRY_MS = HOUR_MS

/** A stretch of time, by the testbed's clock, in which one thing was different. */
interface Spell {
  /** A market, or a symbol. */
  readonly of: string
  readonly factor: number
  readonly from: number
  to: number
}

/** Starts an append-only Redis and a testbed that writes to it. */
export async function openRedisBed(
  t: Teardown,
  options: Partial<TestbedOptions> & { readonly redis?: TestRedisOptions } = {},
) {
  const redis = await startRedis(t, { appendonly: true, ...options.redis })
  const raw = redis.client()
  return { redis, raw, bed: await openTestbed(t, { redisUrl: redis.url, raw: () => raw, ...options }) }
}

/** Starts the exchanges; the test starts the ingesters. Everything ends with it. */
export async function openTestbed(t: Teardown, options: TestbedOptions) {
  const { factor = 20, coins = ['BTC', 'ETH', 'XRP', 'KNC'] } = options
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const clock = createFastClock(options.startAt ?? midnight - 10 * MINUTE_MS, factor)
  const scales: Spell[] = []
  const halts: Spell[] = []
  const begin = (spells: Spell[], of: string, factor: number) => {
    const spell: Spell = { of, factor, from: clock.now(), to: Number.POSITIVE_INFINITY }
    spells.push(spell)
    return spell
  }
  /** The same exchanges seen from elsewhere: same prices, own faults. */
  const openView = async () => {
    const view = await startSimulator({ seed: 'fault', clock, pumpMs: 10 * factor, limits: false })
    t.teardown(() => view.close())
    return view
  }
  const exchanges = await openView()
  const running = new Set<Program>()
  /** Starts an ingester process. @param id stays the same when it is started again */
  const start = (id: string, env: Record<string, string> = {}, view = exchanges) => {
    const place = { FAST_CLOCK: clock.text, INGESTER_ID: id, REDIS_URL: options.redisUrl, ...view.env }
    const settings = { PRICES: 'simulated', COINS: coins.join(','), BACKFILL_DAYS: '1' }
    const ops = { OPS_PORT: '0', LOG_LEVEL: 'info' }
    const all = { ...place, ...settings, ...ops, ...env }
    // The IPC channel ends the process when this one is gone.
    const stdio = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] as ('ignore' | 'pipe' | 'ipc')[] }
    const ingester = startProgram(undefined, ['--enable-source-maps', MAIN], all, stdio)
    running.add(ingester)
    return ingester
  }
  /** Ends all ingesters at once. */
  const killAll = async () => {
    await Promise.all([...running].map(ingester => ingester.end('SIGKILL')))
    running.clear()
  }
  t.teardown(killAll)
  const auditTo = async (to: number) =>
    audit({
      redis: await options.raw(),
      truth: {
        ...exchanges,
        scaled: (exchange, market, at) =>
          scales
            .filter(
              ({ of, from, to }) => of === exchange + market && from <= at && at <= to + LONGEST_CARRY_MS,
            )
            .map(({ factor }) => factor),
        halted: (symbol, at) => halts.some(({ of, from, to }) => of === symbol && from < at && at <= to),
      },
      coins,
      // The oldest minute that BACKFILL_DAYS=1 fills.
      from: dayStart(minuteOf(clock.now())) - DAY_MINUTES,
      to,
    })
  /** Resolves when all that can be stored before a minute is, and is right. */
  const untilFilled = (to: number) => eventually('all is right', () => isWhole(() => auditTo(to)))
  let settledTo = 0
  return {
    clock,
    exchanges,
    coins,
    /** The minute that runs now. */
    minute: () => minuteOf(clock.now()),
    openView,
    /** Scales a market's prices in frames until the returned function is called; the audit allows for it. */
    scalePrice(exchange: Exchange, market: string, factor: number) {
      const spell = begin(scales, exchange + market, factor)
      const undo = exchanges.faults.set({ kind: 'price', exchange, market, factor })
      return () => {
        undo()
        spell.to = clock.now()
      }
    },
    /** Halts a coin on Upbit until the returned function is called; the audit allows for it. */
    halt(symbol: string) {
      const spell = begin(halts, symbol, 1)
      const market = `KRW-${symbol}`
      const undo = exchanges.faults.set({ kind: 'halt', exchange: 'upbit', market, state: 'DELISTED' })
      return () => {
        undo()
        spell.to = clock.now() + HALT_ENDS_WITHIN_MS
      }
    },
    start,
    killAll,
    untilFilled,
    /** Audits once more what `settle` audited. */
    audit: () => auditTo(settledTo),
    /** Starts a last ingester, waits until it has filled what can be filled, and audits everything. */
    async settle(): Promise<Verdict> {
      await killAll()
      settledTo = minuteOf(clock.now()) - LEFT_TO_LIVE
      // Its holder is gone, and it expires in real time.
      const raw = await options.raw()
      for (const lease of await raw.keys('{kp}:lease:*')) await raw.del(lease)
      start('last')
      // What is still missing or wrong after that is the audit's to judge; a day row may first have to be repaired.
      await untilFilled(settledTo).catch(() => {})
      await killAll()
      return auditTo(settledTo)
    },
  }
}

async function isWhole(audited: () => Promise<Verdict>): Promise<boolean> {
  const { lost, wrong } = await audited().catch(() => ({ lost: 1, wrong: 0 }))
  await delay(300)
  return lost + wrong === 0
}
