import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Clock, EpochMinute, Sample } from '@kimchi/core'
import { DAY_MINUTES, dateOf, minuteOf, premiumE4 } from '@kimchi/core'
import { createLogger, systemClock } from '@kimchi/runtime'
import { openRedis, SampleWriter } from '@kimchi/store'
import {
  followProgram,
  type MemoryCgroup,
  type Sought,
  ask as send,
  startRedis,
  type Teardown,
  type TestRedis,
  eventually as within,
} from '@kimchi/testkit'
import { readConfig } from '../src/config.ts'
import { startApi } from '../src/start.ts'
import { daysBefore } from './board.ts'
import type { SeenAnswer } from './contract.ts'

const COINS = ['BTC', 'ETH', 'XRP']

/** A live sample; its price differs from minute to minute. */
export function sampleOf(symbol: string, minute: EpochMinute): Sample {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 1_000), 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

/** A writer of these coins. */
export async function openTestWriter(
  t: Teardown,
  url: string,
  symbols: readonly string[] = COINS,
): Promise<SampleWriter & { writeMinute(minute: EpochMinute): Promise<unknown> }> {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(60_000)
  const log = createLogger('api', 'silent')
  const writer = new SampleWriter({ redis, prices: 'live', retentionDays: 8, log })
  const coins = symbols.map(symbol => ({
    symbol,
    name: `Coin ${symbol}`,
    upbit: `KRW-${symbol}`,
    binance: `${symbol}USDT`,
  }))
  const writeMinute = async (minute: EpochMinute) => {
    await writer.track(coins)
    await writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  }
  return Object.assign(writer, { writeMinute })
}

/** 200 coins, C0 to C199. */
export const MANY = Array.from({ length: 200 }, (_, n) => `C${n}`)

/** A Redis with a minute of {@link MANY}, and as many imported days of these. */
export async function startFullRedis(t: Teardown, days: number, symbols: readonly string[] = ['C0']) {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url, MANY)
  const minute = minuteOf(Date.now())
  for (const day of daysBefore(dateOf(minute - 9 * DAY_MINUTES), days)) await writer.importDay('C0', day)
  await writer.writeMinute(minute)
  for (const symbol of symbols.slice(1))
    await redis.client().copy('{kp}:daily:C0', `{kp}:daily:${symbol}`, 'REPLACE')
  return { redis, writer }
}

/** What a replica finds in Redis, and holds when a test gets it. */
interface Stored {
  /** Nothing was written yet. @default false: the list can be read */
  readonly nothing?: boolean
  /** Symbols whose histories are held too. @default none */
  readonly histories?: readonly string[]
}

/** The API in this process, on free ports. */
export async function startTestApi(
  t: Teardown,
  url: string,
  { clock = systemClock, ...stored }: Stored & { readonly clock?: Clock } = {},
) {
  const config = readConfig({ REDIS_URL: url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' })
  const api = await startApi(config, { log: createLogger('api', 'silent'), clock, version: 'test' })
  let closed: Promise<void> | undefined
  const close = () => (closed ??= api.close())
  t.teardown(close)
  return onceHeld({ ...api, close }, stored)
}

/** A replica as a process of its own. */
export type Replica = Awaited<ReturnType<typeof startReplica>>

/**
 * Starts the real program, on free ports.
 * @param cgroup limits its memory
 */
export async function startReplica(
  t: Teardown,
  url: string,
  { cgroup, ...stored }: Stored & { readonly cgroup?: MemoryCgroup } = {},
) {
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
  const command = [process.execPath, main] as const
  const [program, ...args] = cgroup?.wrap(command) ?? command
  const env = { REDIS_URL: url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' }
  const replica = followProgram(
    spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] }),
    'the API',
  )
  t.teardown(() => replica.end('SIGKILL'))
  const listening = JSON.parse(await replica.line(line => line.includes('"API listens"')))
  const ports = { port: Number(listening.port), opsPort: Number(listening.opsPort) }
  return onceHeld({ ...replica, ...ports }, stored)
}

/** The addresses of an API, once it holds what is stored: on a slow machine it listens before. */
async function onceHeld<Api extends { readonly port: number; readonly opsPort: number }>(
  api: Api,
  { nothing = false, histories = [] }: Stored,
) {
  const base = `http://127.0.0.1:${api.port}/api/v1/kimchi-premium`
  const ops = `http://127.0.0.1:${api.opsPort}`
  const isHeld = (url: string) => within(url, async () => (await ask(url)).status === 200)
  if (!nothing) await isHeld(`${ops}/serving`)
  for (const symbol of histories) await isHeld(`${base}/${symbol}/daily`)
  return { ...api, base, ops }
}

/** Gives up after 30 s: a poll for a minute that is not due yet would find anything only later. */
export function eventually<T>(what: string, look: () => Sought<T> | Promise<Sought<T>>): Promise<T> {
  return within(what, look, 30_000)
}

/** How often the store's functions were called to read. */
export async function readsOf(redis: TestRedis): Promise<number> {
  return Number(/cmdstat_fcall_ro:calls=(\d+)/.exec(await redis.client().info('commandstats'))?.[1] ?? 0)
}

/**
 * The same, once a replica has read all that it reads at its start: on a slow machine it listens before, and its
 * subscription makes it read once more.
 */
export async function settledReads(redis: TestRedis): Promise<number> {
  let reads = 0
  const hasSettled = async () => {
    const before = reads
    reads = await readsOf(redis)
    return reads > 0 && reads === before
  }
  await within('it has read all that it reads at its start', hasSettled, undefined, 1_000)
  return reads
}

/** One GET, over a connection of its own. */
export async function ask(url: string, headers = {}): Promise<SeenAnswer> {
  const { port, pathname, search } = new URL(url)
  const answer = await send(Number(port), pathname + search, { headers })
  return { ...answer, body: answer.body.toString() }
}

/** Why an API is not ready, in one text. */
export async function reasonsOf({ ops }: { readonly ops: string }): Promise<string> {
  return (await getJson(`${ops}/ready`)).reasons.join()
}

// biome-ignore lint/suspicious/noExplicitAny: read as a caller of the API reads it
export async function getJson(url: string): Promise<any> {
  return JSON.parse((await ask(url)).body)
}
