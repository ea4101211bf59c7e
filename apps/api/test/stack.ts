import { spawn } from 'node:child_process'
import type { Agent } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { EpochMinute, Sample } from '@kimchi/core'
import { premiumE4 } from '@kimchi/core'
import { createLogger, systemClock } from '@kimchi/runtime'
import { openRedis, SampleWriter } from '@kimchi/store'
import {
  askTwice,
  followProgram,
  type MemoryCgroup,
  type Sought,
  type TestRedis,
  eventually as within,
} from '@kimchi/testkit'
import { readConfig } from '../src/config.ts'
import { startApi } from '../src/start.ts'
import type { SeenAnswer } from './contract.ts'

interface Teardown {
  teardown(close: () => unknown): void
}

const COINS = ['BTC', 'ETH', 'XRP']

/** A live sample; its price differs from minute to minute. */
export function sampleOf(symbol: string, minute: EpochMinute): Sample {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 1_000), 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

/** A writer that tracks these coins. */
export async function openTestWriter(
  t: Teardown,
  url: string,
  symbols: readonly string[] = COINS,
): Promise<SampleWriter & { writeMinute(minute: EpochMinute): Promise<unknown> }> {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const writer = new SampleWriter({
    redis,
    prices: 'live',
    retentionDays: 8,
    log: createLogger('api', 'silent'),
  })
  await writer.track(
    symbols.map(symbol => ({
      symbol,
      name: `Coin ${symbol}`,
      upbit: `KRW-${symbol}`,
      binance: `${symbol}USDT`,
    })),
  )
  const writeMinute = (minute: EpochMinute) =>
    writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  return Object.assign(writer, { writeMinute })
}

/** The API in this process, on free ports. */
export async function startTestApi(t: Teardown, url: string) {
  const config = readConfig({ REDIS_URL: url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' })
  const api = await startApi(config, {
    log: createLogger('api', 'silent'),
    clock: systemClock,
    version: 'test',
  })
  t.teardown(() => api.close())
  return {
    ...api,
    base: `http://127.0.0.1:${api.port}/api/v1/kimchi-premium`,
    ops: `http://127.0.0.1:${api.opsPort}`,
  }
}

/** A replica as a process of its own. */
export type Replica = Awaited<ReturnType<typeof startReplica>>

/**
 * Starts the real program on free ports (or on `port`) and waits until it says that it listens.
 * @param cgroup limits its memory
 */
export async function startReplica(t: Teardown, url: string, port = 0, cgroup?: MemoryCgroup) {
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
  const command = [process.execPath, main] as const
  const [program, ...args] = cgroup?.wrap(command) ?? command
  const env = { REDIS_URL: url, HOST: '127.0.0.1', PORT: String(port), OPS_PORT: '0' }
  const replica = followProgram(
    spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] }),
    'the API',
  )
  t.teardown(() => replica.end('SIGKILL'))
  const listening = JSON.parse(await replica.line(line => line.includes('"API listens"')))
  return {
    ...replica,
    port: Number(listening.port),
    opsPort: Number(listening.opsPort),
    base: `http://127.0.0.1:${listening.port}/api/v1/kimchi-premium`,
  }
}

/** Gives up after 10 s, before a poll for an overdue minute would find anything. */
export function eventually<T>(what: string, look: () => Sought<T> | Promise<Sought<T>>): Promise<T> {
  return within(what, look, 10_000)
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

/** One GET, over a connection of its own or one of `agent`. */
export async function ask(url: string, headers = {}, agent?: Agent): Promise<SeenAnswer> {
  const { port, pathname, search } = new URL(url)
  const answer = await askTwice(Number(port), pathname + search, { headers, agent: agent ?? false })
  return { ...answer, body: answer.body.toString() }
}

// biome-ignore lint/suspicious/noExplicitAny: read as a caller of the API reads it
export async function getJson(url: string): Promise<any> {
  return JSON.parse((await ask(url)).body)
}
