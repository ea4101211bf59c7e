import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { type Coin, type EpochMinute, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { type SimulatorOptions, startSimulator } from '@kimchi/simulator'
import { loadLibrary, openRedis, SampleReader } from '@kimchi/store'
import { createMemoryLog, type RawRedis, startRedis } from '@kimchi/testkit'
import type { Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { startIngester } from '../../src/start.ts'
import { YESTERDAY } from './backfill-bench.ts'

/** What an ingester of a test is started with. */
export interface StartOptions {
  readonly id?: string
  readonly env?: Readonly<Record<string, string>>
}

/** How far the clock goes at a time. */
const STEP_S = 2
/** Minutes between two loads of the listings. */
const REFRESH_MINUTES = 2

/**
 * A real simulator, a real Redis and real ingesters in this process, all on one clock that moves in
 * steps, so that an hour takes a few seconds. @param options.at minutes into yesterday at which it begins
 * @default 720
 */
export async function openLockstep(t: Test, options: SimulatorOptions & { at?: EpochMinute } = {}) {
  const clock = createManualClock(minuteStart(YESTERDAY + (options.at ?? 720)) + 1_500)
  const opened = new Set<number>()
  const simulator = await startSimulator({
    clock: { now: () => clock.now(), every: () => () => {} },
    pumpMs: 0,
    speed: 2,
    limits: false,
    onFrame: ({ connection }) => opened.add(connection),
    ...options,
  })
  t.teardown(() => simulator.close())
  const redis = await startRedis(t)
  const connection = openRedis(redis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(10_000)
  await loadLibrary(connection)
  const reader = new SampleReader({ redis: connection })
  const raw = redis.client()
  const log = createMemoryLog()
  const read = {
    /** Symbols of the live list. */
    live: async () => (await reader.readBoard()).rows.map(({ symbol }) => symbol),
    /** The coins that Redis knows; an order of undefined says "no longer tracked". */
    coins: async () => new Map((await reader.readBoard()).coins.map(coin => [coin.symbol, coin])),
    minutesOf: async (symbol: string) =>
      (await reader.readSamples(symbol, YESTERDAY, YESTERDAY + 1_440)).entries.map(({ minute }) => minute),
    status: (id = 'a') => raw.hgetall(`{kp}:ingester:${id}`),
    /** What is kept of a coin; a lease only says who looks after it. */
    keysOf: async (symbol: string) =>
      (await raw.keys(`*:${symbol}*`)).filter(key => !key.startsWith('{kp}:lease:')),
  }

  /** Lets time pass, step by step, with room for sockets; stops early when something has happened. */
  const pass = async (minutes: number, isOver: () => boolean | Promise<boolean> = () => false) => {
    for (let second = 0; second < minutes * 60; second += STEP_S) {
      if (second % 60 === 0 && (await isOver())) return
      if (second % 10 === 0) await ageLeases(raw, 10)
      simulator.pump()
      for (let turns = 0; turns < 4; turns++) await turn()
      await delay(1)
      await clock.advance(STEP_S * 1_000)
    }
  }
  /** Waits for what does not hang on the clock, such as an answer over REST. */
  const passUntil = async (what: string, isOver: () => unknown) => {
    for (let tries = 0; !(await isOver()); tries++) {
      if (tries > 3_000) throw new Error(`waited eight hours by the clock in vain: ${what}`)
      await pass(1 / 6)
    }
  }
  const start = async ({ id = 'a', env = {} }: StartOptions = {}) => {
    const config = readConfig({
      COINS: 'all',
      PRICES: 'simulated',
      BACKFILL_DAYS: '0',
      OPS_PORT: '0',
      REDIS_URL: redis.url,
      UPBIT_WS_URL: simulator.upbitWsUrl,
      UPBIT_REST_URL: simulator.upbitRestUrl,
      BINANCE_WS_URL: simulator.binanceWsUrl,
      BINANCE_REST_URL: simulator.binanceRestUrl,
      ...env,
    })
    const ingester = await startIngester(config, {
      log,
      clock,
      random: () => 0.5,
      id,
      version: 'test',
      refreshMs: REFRESH_MINUTES * MINUTE_MS,
    })
    ingester.failed.catch(() => {})
    const close = async () => {
      let isClosed = false
      const closing = ingester.close().finally(() => {
        isClosed = true
      })
      while (!isClosed) {
        await clock.advance(100)
        await turn()
      }
      await closing
    }
    t.teardown(close)
    const opsUrl = `http://127.0.0.1:${ingester.opsPort}`
    // The lists are loaded in real time; the clock waits for them.
    const isOver = ingester.failed.catch(() => true)
    while (/not loaded yet/.test(await (await fetch(`${opsUrl}/ready`)).text())) {
      if ((await Promise.race([isOver, delay(10)])) === true) break
    }
    return { failed: ingester.failed, close, opsUrl }
  }
  /** Minutes of [from, to) of which the coin has no sample with the exchange's own last price. */
  const wrongMinutes = async (coin: Pick<Coin, 'symbol' | 'upbit'>, from: EpochMinute, to: EpochMinute) => {
    const { entries } = await reader.readSamples(coin.symbol, from, to)
    const prices = new Map(entries.map(({ minute, upbitKrw }) => [minute, upbitKrw]))
    const wrong: EpochMinute[] = []
    for (let minute = from; minute < to; minute++) {
      const truth = simulator.prices.lastTrade('upbit', coin.upbit, minuteStart(minute))?.price
      if (prices.get(minute) !== truth) wrong.push(minute)
    }
    return wrong
  }
  const minute = () => minuteOf(clock.now())
  return {
    clock,
    simulator,
    opened,
    redis,
    raw,
    log,
    reader,
    read,
    pass,
    passUntil,
    start,
    wrongMinutes,
    minute,
  }
}

/** Redis' clock can't be set: what the ingesters have announced is made older instead. */
async function ageLeases(raw: RawRedis, seconds: number): Promise<void> {
  for (const key of ['{kp}:tracked', '{kp}:denied']) {
    for (const symbol of await raw.zrange(key, 0, '-1')) await raw.zincrby(key, -seconds, symbol)
  }
  if (await raw.hexists('{kp}:meta', 'announced')) await raw.hincrby('{kp}:meta', 'announced', -seconds)
}
