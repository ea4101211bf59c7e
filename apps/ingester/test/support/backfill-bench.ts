import { once } from 'node:events'
import {
  type Coin,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  type Log,
  minuteOf,
  minuteStart,
} from '@kimchi/core'
import { createDoors, type DoorOptions, type Doors, RestClient } from '@kimchi/feeds'
import { createLogger, systemClock } from '@kimchi/runtime'
import { createSimulator, DEFAULT_COINS, type SimulatorOptions } from '@kimchi/simulator'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import {
  audit,
  fetchFrom,
  MEMORY_URLS,
  startRedis,
  stayClearOfMidnight,
  type TestRedis,
} from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import type { Test } from 'tap'
import { Backfill, type BackfillOptions } from '../../src/backfill/run-backfill.ts'
import { withTrades } from './market.ts'

await stayClearOfMidnight(Date.now())

/** 00:00 UTC of yesterday: a day that is over, and well inside the retention by Redis' own clock. */
export const YESTERDAY: EpochMinute = dayStart(minuteOf(Date.now())) - DAY_MINUTES

export const silent = createLogger('test', 'silent')

export const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
export const ETH: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }
/** Trades every twenty minutes on Upbit. */
export const KNC: Coin = { symbol: 'KNC', name: 'Kyber Network', upbit: 'KRW-KNC', binance: 'KNCUSDT' }
/** Trades every forty minutes on Upbit: sometimes nothing can be carried. */
export const IQ: Coin = { symbol: 'IQ', name: 'IQ', upbit: 'KRW-IQ', binance: 'IQUSDT' }

/**
 * Candles are folded from every single trade: as few as leave no minute of a lively market without one.
 */
export const FEW_TRADES = DEFAULT_COINS.map(coin => withTrades(coin, usual => Math.min(10, usual)))

const AT_THE_SIMULATOR = {
  streams: { upbit: MEMORY_URLS.UPBIT_WS_URL, binance: MEMORY_URLS.BINANCE_WS_URL },
  rest: { upbit: MEMORY_URLS.UPBIT_REST_URL, binance: MEMORY_URLS.BINANCE_REST_URL },
  userAgent: 'test',
}

type RestRequest = Parameters<NonNullable<SimulatorOptions['onRequest']>>[0]

/** A simulator in memory, and a Redis, for all tests of a file. */
export async function openExchanges(t: Test, options: SimulatorOptions = {}) {
  const requests: RestRequest[] = []
  const onRequest = (request: RestRequest) => requests.push(request)
  const simulator = createSimulator({ coins: FEW_TRADES, limits: false, onRequest, ...options })
  const sharedRedis = await startRedis(t)
  const fetch = fetchFrom(simulator)
  const rest = new RestClient(
    createDoors(
      { ...AT_THE_SIMULATOR, upbitPerSecond: Number.POSITIVE_INFINITY, fetch },
      { clock: systemClock, random: () => 0.5, log: silent, signal: new AbortController().signal },
    ),
  )
  const requestsFor = (exchange: string) =>
    requests.filter(request => request.exchange === exchange && /candles|klines/.test(request.path))
  return { simulator, sharedRedis, fetch, rest, requests, requestsFor }
}

/** What a bench is made of. */
export interface BenchOptions {
  /** Minutes into yesterday at which the ingester's clock stands. @default 360 */
  readonly at?: EpochMinute
  /** A server of its own. @default that of the file, emptied */
  readonly redis?: TestRedis
}

type FetchCandles = BackfillOptions['rest']['fetchCandles']

/** How a backfill of a test differs from an ingester's. */
export interface StartOptions extends Partial<BackfillOptions> {
  readonly log?: Log
  /** @default always 0.5 */
  readonly random?: () => number
  /** Stands between backfill and exchanges. */
  readonly around?: (fetchCandles: FetchCandles) => FetchCandles
  /** @default 400 */
  readonly upbitPerSecond?: number
  /** How it reaches the exchanges. @default that of the file */
  readonly fetch?: DoorOptions['fetch']
}

/** A backfill that runs. */
export interface RunningBackfill extends Pick<Backfill, 'status' | 'noteMinute'> {
  readonly doors: Doors
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>
}

/** An empty Redis, and a clock that the test turns, before those exchanges. */
export async function openBench(
  t: Test,
  {
    simulator,
    sharedRedis,
    fetch: fetchOfFile,
    requests,
  }: Pick<Awaited<ReturnType<typeof openExchanges>>, 'simulator' | 'sharedRedis' | 'fetch' | 'requests'>,
  { at = 360, redis: testRedis = sharedRedis }: BenchOptions = {},
) {
  requests.length = 0
  simulator.faults.clear()
  const raw = testRedis.client()
  await raw.flushall()
  await raw.function('FLUSH')
  const redis = openRedis(testRedis.url, { name: 'test' })
  t.teardown(() => redis.close())
  await redis.untilReady(60_000)
  const clock = createManualClock(minuteStart(YESTERDAY + at) + 30_000)
  for (const method of ['call', 'callBuffer'] as const) {
    const send = redis[method].bind(redis)
    redis[method] = (...command) => clock.hold(send(...command))
  }
  const writer = new SampleWriter({ redis, prices: 'simulated', retentionDays: 8, log: silent })
  const reader = new SampleReader({ redis })
  // As an ingester's first announcement does, which loads the library.
  await writer.verify()

  /** Starts a backfill as an ingester does; ended with the test. */
  const start = (coins: readonly Coin[], options: StartOptions = {}): RunningBackfill => {
    const { log = silent, random = () => 0.5, around = ask => ask, ...others } = options
    const { upbitPerSecond = 400, fetch = fetchOfFile, ...changes } = others
    const ending = new AbortController()
    const context = { clock, random, signal: ending.signal, log }
    const held: typeof fetch = (...request) => clock.hold(fetch(...request))
    const doors = createDoors({ ...AT_THE_SIMULATOR, upbitPerSecond, fetch: held }, context)
    const rest = new RestClient(doors)
    // What stands around a request does not end with the ingester.
    const ended = once(ending.signal, 'abort').then(() => Promise.reject(ending.signal.reason))
    ended.catch(() => {})
    const asked = around((...request) => rest.fetchCandles(...request))
    const fetchCandles: FetchCandles = (...request) => Promise.race([asked(...request), ended])
    const backfill = new Backfill(
      {
        days: 0,
        reader,
        writer,
        rest: { fetchCandles },
        upbitPerSecond,
        ...changes,
      },
      context,
    )
    backfill.follow(coins)
    const running = backfill.run()
    const stop = async () => {
      ending.abort()
      await running
    }
    t.teardown(stop)
    return { doors, status: () => backfill.status(), noteMinute: known => backfill.noteMinute(known), stop }
  }
  /** What is wrong with what is stored, and missing of [YESTERDAY, YESTERDAY + to). */
  const check = (coins: readonly Coin[], to: EpochMinute) =>
    audit({
      redis: raw,
      truth: simulator,
      coins: coins.map(({ symbol }) => symbol),
      from: YESTERDAY,
      to: YESTERDAY + to,
    })
  /** Whether nothing is open since YESTERDAY but what a late candle may still decide. */
  const isWhole = (coins: readonly Coin[]) => async () => {
    const end = minuteOf(clock.now() - 10_000) - 2
    const open = coins.map(({ symbol }) => reader.readOpenMinutes(symbol, YESTERDAY, end))
    // An empty Redis has no functions before something is written.
    const ranges = await Promise.all(open).catch(() => undefined)
    return ranges?.flat().length === 0
  }
  return { redis, writer, reader, clock, start, check, isWhole }
}
