import { setTimeout as delay } from 'node:timers/promises'
import { type EpochMinute, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { createSimulator, type SimulatorOptions } from '@kimchi/simulator'
import { loadLibrary, openRedis, SampleReader } from '@kimchi/store'
import {
  ask,
  createMemoryLog,
  eventually,
  MEMORY_URLS,
  networkOf,
  passUntil as passClockUntil,
  type Sought,
  sampleProblem,
  startRedis,
  untilIdle,
} from '@kimchi/testkit'
import { createManualClock, type ManualClock } from '@kimchi/testkit/manual-clock'
import type { Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { type Ingester, startIngester } from '../../src/start.ts'
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
  const onFrame = ({ connection }: { connection: number }) => opened.add(connection)
  const simulator = createSimulator({ clock, limits: false, onFrame, ...options })
  const redis = await startRedis(t)
  const connection = openRedis(redis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(60_000)
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
  }

  /** Lets time pass, step by step, with room for sockets; stops early when something has happened. */
  const pass = async (minutes: number, isOver: () => boolean | Promise<boolean> = () => false) => {
    for (let second = 0; second < minutes * 60; second += STEP_S) {
      if (second % 60 === 0 && (await isOver())) return
      if (second % 10 === 0) await raw.eval(AGE_LEASES, 0, 10)
      simulator.pump()
      await untilIdle()
      // Redis is another process.
      await delay(1)
      await clock.advance(STEP_S * 1_000)
    }
  }
  /** Lets time pass until the answer is neither undefined nor false. */
  const passUntil = <T>(what: string, ask: () => Sought<T> | Promise<Sought<T>>) => {
    const askOrPass = async () => {
      const answer = await ask()
      if (answer === undefined || answer === false) await pass(1 / 6)
      return answer
    }
    return eventually(what, askOrPass, undefined, 1)
  }
  const start = async ({ id = 'a', env = {} }: StartOptions = {}) => {
    const config = readConfig({
      COINS: 'all',
      PRICES: 'simulated',
      BACKFILL_DAYS: '0',
      OPS_PORT: '0',
      REDIS_URL: redis.url,
      ...MEMORY_URLS,
      ...env,
    })
    const ingester = await startIngester(config, {
      log,
      clock,
      random: () => 0.5,
      id,
      version: 'test',
      refreshMs: REFRESH_MINUTES * MINUTE_MS,
      network: networkOf(simulator),
    })
    ingester.failed.catch(() => {})
    const close = () => closeByClock(clock, ingester)
    t.teardown(close)
    const ops = (path: string) => ask(ingester.opsPort, path)
    // The lists are loaded in real time; the clock waits for them.
    const isLoaded = async () => !/not loaded yet/.test(String((await ops('/ready')).body))
    await Promise.race([eventually('the lists are loaded', isLoaded), ingester.failed.catch(() => true)])
    return { failed: ingester.failed, close, ops }
  }
  /** Minutes of [from, to) of which the coin has no sample that the exchanges confirm. */
  const wrongMinutes = async (symbol: string, from: EpochMinute, to: EpochMinute) => {
    const { entries } = await reader.readSamples(symbol, from, to)
    const isRight = (minute: EpochMinute) =>
      entries.some(sample => sample.minute === minute && sampleProblem(sample, simulator) === undefined)
    return Array.from({ length: to - from }, (_, index) => from + index).filter(minute => !isRight(minute))
  }
  const minute = () => minuteOf(clock.now())
  return {
    clock,
    simulator,
    opened,
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

/** Closes an ingester whose end waits for the clock. */
async function closeByClock(clock: ManualClock, ingester: Ingester): Promise<void> {
  let isClosed = false
  const closing = ingester.close().finally(() => {
    isClosed = true
  })
  await passClockUntil(clock, 'the ingester ends', () => isClosed, 100)
  await closing
}

/** Redis' clock can't be set: what the ingesters have announced is made older instead. */
const AGE_LEASES = `
for _, key in ipairs({ '{kp}:tracked', '{kp}:denied' }) do
  for _, symbol in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -ARGV[1], symbol) end
end
if redis.call('HEXISTS', '{kp}:meta', 'announced') == 1 then
  redis.call('HINCRBY', '{kp}:meta', 'announced', -ARGV[1])
end`
