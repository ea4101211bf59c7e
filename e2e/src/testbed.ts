import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DAY_MINUTES, DAY_MS, dayStart, HOUR_MS, MINUTE_MS, minuteOf } from '@kimchi/core'
import { type Exchange, type Simulator, startSimulator } from '@kimchi/simulator'
import {
  audit,
  eventually,
  type Program,
  type RawRedis,
  startProgram,
  type Teardown,
  type Verdict,
} from '@kimchi/testkit'
import { createFastClock, type FastClock } from './fast-clock.ts'

/** How a testbed is opened. */
export interface TestbedOptions {
  /** As the ingesters are told; may be Sentinel or Cluster. */
  readonly redisUrl: string
  /** A connection to the server that holds the data at this moment. */
  readonly raw: () => RawRedis | Promise<RawRedis>
  /** Milliseconds of its clock per real one. @default 20 */
  readonly factor?: number
  /** Where its clock starts. @default ten minutes before the last UTC midnight */
  readonly startAt?: number
  readonly seed?: string
  /** Tracked coins; KNC trades on Upbit once in twenty minutes. @default BTC, ETH, XRP, KNC */
  readonly coins?: readonly string[]
}

/** Both exchanges and any number of real ingester processes, on a clock that runs faster. */
export interface Testbed {
  readonly clock: FastClock
  readonly exchanges: Simulator
  readonly coins: readonly string[]
  /** The minute that runs now. */
  minute(): number
  /** The same exchanges seen from elsewhere: same prices, own faults. */
  openView(): Promise<Simulator>
  /** Multiplies a market's prices in frames until the returned function is called; the audit knows of it. */
  scalePrice(exchange: Exchange, market: string, factor: number): () => void
  /** Halts a coin on Upbit until the returned function is called; the audit knows of it. */
  halt(symbol: string): () => void
  /** Starts an ingester process. @param id stays the same when it is started again */
  start(id: string, env?: Record<string, string>, view?: Simulator): Program
  /** Ends all ingesters at once. */
  killAll(): Promise<void>
  /** Starts a last ingester, waits until it has filled what can be filled, and audits everything. */
  settle(): Promise<Verdict>
  /** Audits once more what {@link Testbed.settle} did. */
  audit(): Promise<Verdict>
}

const MAIN = fileURLToPath(new URL('../dist/fast-ingester.js', import.meta.url))

/** The newest minutes are left to the live feeds. @see docs/architecture.md#ingester */
const LEFT_TO_LIVE = 6

/** Starts the exchanges; ingesters are started by the test. Everything ends with it. */
export async function openTestbed(t: Teardown, options: TestbedOptions): Promise<Testbed> {
  const { factor = 20, seed = 'fault', coins = ['BTC', 'ETH', 'XRP', 'KNC'] } = options
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const clock = createFastClock(options.startAt ?? midnight - 10 * MINUTE_MS, factor)
  const scales: Scale[] = []
  const halts: { readonly symbol: string; readonly from: number; to: number }[] = []
  const openView = async () => {
    const view = await startSimulator({
      seed,
      clock,
      pumpMs: 10 * factor,
      limits: false,
    })
    t.teardown(() => view.close())
    return view
  }
  const exchanges = await openView()
  const running = new Set<Program>()
  const start: Testbed['start'] = (id, env = {}, view = exchanges) => {
    const started = startIngester(environmentOf(view, { id, redisUrl: options.redisUrl, clock, coins }, env))
    running.add(started)
    return started
  }
  const killAll = async () => {
    await Promise.all([...running].map(ingester => ingester.end('SIGKILL')))
    running.clear()
  }
  t.teardown(killAll)
  const look = async (to: number) =>
    audit({
      redis: await options.raw(),
      truth: {
        prices: exchanges.prices,
        lastFrame: exchanges.lastFrame,
        scaled: (exchange, market, at) => factorsOf(scales, exchange, market, at),
        halted: (symbol, at) => halts.some(halt => halt.symbol === symbol && halt.from < at && at <= halt.to),
      },
      coins,
      // As BACKFILL_DAYS=1 has it.
      from: dayStart(minuteOf(clock.now())) - DAY_MINUTES,
      to,
    })
  let settledTo = 0
  return {
    clock,
    exchanges,
    coins,
    minute: () => minuteOf(clock.now()),
    openView,
    scalePrice(exchange, market, factor) {
      const scale: Scale = { exchange, market, factor, from: clock.now(), to: Number.POSITIVE_INFINITY }
      scales.push(scale)
      const undo = exchanges.faults.set({ kind: 'price', exchange, market, factor })
      return () => {
        undo()
        scale.to = clock.now()
      }
    },
    halt(symbol) {
      const halt = { symbol, from: clock.now(), to: Number.POSITIVE_INFINITY }
      halts.push(halt)
      const market = `KRW-${symbol}`
      const undo = exchanges.faults.set({ kind: 'halt', exchange: 'upbit', market, state: 'DELISTED' })
      return () => {
        undo()
        halt.to = clock.now() + HALT_ENDS_WITHIN_MS
      }
    },
    start,
    killAll,
    audit: () => look(settledTo),
    async settle() {
      await killAll()
      settledTo = minuteOf(clock.now()) - LEFT_TO_LIVE
      // Its holder is gone, and its expiry is in real time.
      await (await options.raw()).del('{kp}:lease:backfill')
      start('last')
      await untilWhole(() => look(settledTo), 40_000)
      await killAll()
      return look(settledTo)
    },
  }
}

/** An ingester knows of the end of a halt this late at most. */
const HALT_ENDS_WITHIN_MS = 150_000

/** A market whose frames were multiplied for a while. */
interface Scale {
  readonly exchange: Exchange
  readonly market: string
  readonly factor: number
  readonly from: number
  to: number
}

/** A quiet market's last frame before a minute may be this much older: longer carries nobody. */
const LONGEST_CARRY_MS = HOUR_MS

function factorsOf(scales: readonly Scale[], exchange: Exchange, market: string, at: number) {
  const near = scales.filter(
    scale =>
      scale.exchange === exchange &&
      scale.market === market &&
      scale.from <= at &&
      at <= scale.to + LONGEST_CARRY_MS,
  )
  return [1, ...near.map(({ factor }) => factor)]
}

/**
 * Waits until nothing is missing that could be there; what is still missing after that is the audit's to
 * judge.
 */
async function untilWhole(look: () => Promise<Verdict>, limitMs: number) {
  await eventually(
    'nothing is missing',
    async () => {
      const { lost } = await look().catch(() => ({ lost: 1 }))
      await delay(300)
      return lost === 0
    },
    limitMs,
  ).catch(() => {})
}

interface Place {
  readonly id: string
  readonly redisUrl: string
  readonly clock: FastClock
  readonly coins: readonly string[]
}

function environmentOf(view: Simulator, { id, redisUrl, clock, coins }: Place, env: Record<string, string>) {
  return {
    FAST_CLOCK: clock.text,
    INGESTER_ID: id,
    REDIS_URL: redisUrl,
    PRICES: 'simulated',
    COINS: coins.join(','),
    BACKFILL_DAYS: '1',
    OPS_PORT: '0',
    LOG_LEVEL: 'info',
    UPBIT_WS_URL: view.upbitWsUrl,
    UPBIT_REST_URL: view.upbitRestUrl,
    BINANCE_WS_URL: view.binanceWsUrl,
    BINANCE_REST_URL: view.binanceRestUrl,
    ...env,
  }
}

/** The IPC channel ends the process when this one is gone. */
function startIngester(env: Record<string, string>): Program {
  return startProgram(undefined, ['--enable-source-maps', MAIN], env, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}
