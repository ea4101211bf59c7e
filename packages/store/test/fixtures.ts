import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Coin, minuteOf, type PricesKind, premiumE4, type Sample, type UtcDate } from '@kimchi/core'
import {
  createMemoryLog,
  followProgram,
  startRedis,
  stayClearOfMidnight,
  type TestRedis,
  type TestRedisOptions,
} from '@kimchi/testkit'
import { type BoardRow, formatLiveRow } from '../src/codec.ts'
import { SampleReader } from '../src/reader.ts'
import { openRedis, type RedisConnection } from '../src/redis/connect.ts'
import { SampleWriter, type WriterOptions } from '../src/writer.ts'

const USERS = fileURLToPath(new URL('../../../deploy/redis/users.acl', import.meta.url))

type T = { teardown(close: () => unknown): void }
type StoreOptions = TestRedisOptions & { prices?: PricesKind; coins?: readonly Coin[] }

export const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
export const ETH: Coin = { symbol: 'ETH', name: '이더리움 "E"', upbit: 'KRW-ETH', binance: 'ETHUSDT' }

export function dailyKey(symbol: string): string {
  return `{kp}:daily:${symbol}`
}

export function samplesKey(symbol: string, date: UtcDate, hour: number): string {
  return `{kp}:samples:${symbol}:${date.replaceAll('-', '')}${String(hour).padStart(2, '0')}`
}

export function settledKey(symbol: string, date: UtcDate, hour: number): string {
  return samplesKey(symbol, date, hour).replace('samples', 'settled')
}

/** A sample whose premium follows from its prices. */
export function sampleOf(symbol: string, minute: number, upbitKrw = 150_000_123): Sample {
  const binanceUsdt = 101_234.56
  const usdtKrw = 1_463.5
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

/** What both sides of partition.test.ts know of a coin's minute: its price rises by 1,000 won a minute. */
export function turnOf(symbol: string, minute: number): Sample {
  return sampleOf(symbol, minute, 150_000_000 + (minute % 1_440) * 1_000)
}

/** What the board says of a stored sample. */
export function rowOf(sample: Sample): BoardRow {
  const { symbol, minute, premiumE4 } = sample
  const name = [BTC, ETH].find(coin => coin.symbol === symbol)?.name ?? symbol
  return { symbol, minute, premiumE4, json: formatLiveRow(sample, name) }
}

/** A connection that is ready, closed with the test. */
export async function connected(t: T, redis: TestRedis, options = {}): Promise<RedisConnection> {
  const connection = openRedis(redis.url, { commandTimeoutMs: 1_000, ...options })
  t.teardown(() => connection.close())
  if (!(await connection.untilReady(60_000))) throw new Error(connection.problem())
  return connection
}

/** A connection of a user as the shipped file has it. */
export async function connectedAs(t: T, redis: TestRedis, user: string): Promise<RedisConnection> {
  const rules =
    readFileSync(USERS, 'utf8')
      .split('\n')
      .find(line => line.startsWith(`user ${user} `)) ?? ''
  await redis.client().call('ACL', 'SETUSER', ...rules.split(' ').slice(1))
  return connected(t, { ...redis, url: redis.url.replace('//', `//${user}:${user}@`) })
}

/** A server with the shipped users and an append-only file in the place of one that was stopped, as compose starts it. */
export function startShipped(t: T, { binary, port, dir }: TestRedis, ...more: string[]) {
  const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', dir, '--appendonly', 'yes', '--save', '']
  const program = followProgram(spawn(binary.server, [...args, '--aclfile', USERS, ...more]), 'redis-server')
  t.teardown(() => program.end('SIGKILL'))
  return program
}

/** A writer of live prices that keeps samples for 8 days. */
export function writerOn(redis: RedisConnection, options: Partial<WriterOptions> = {}): SampleWriter {
  return new SampleWriter({ redis, prices: 'live', retentionDays: 8, log: createMemoryLog(), ...options })
}

/** Mends the days of which the counts alone show that they are wrong: it is no day's turn. */
export function mendUncounted(writer: SampleWriter, symbol: string): Promise<UtcDate[]> {
  return writer.mendDays(symbol, 1, 1)
}

/**
 * A server with a writer and a reader on it, and the minutes of {@link todayMinutes}.
 * @param coins tracked from the beginning @default none, and no library is loaded
 */
export async function openStore(t: T, { prices = 'live', coins, ...options }: StoreOptions = {}) {
  const redis = await startRedis(t, options)
  const connection = await connected(t, redis)
  const log = createMemoryLog()
  const writer = writerOn(connection, { prices, log })
  const reader = new SampleReader({ redis: connection })
  const raw = redis.client()
  /** Calls a function as people do at redis-cli. */
  const ask = (name: string, ...args: (string | number)[]) =>
    raw.call('FCALL_RO', [name, 1, '{kp}:meta', ...args]) as Promise<string[]>
  /** The symbols of the published list. */
  const rows = async () => (await reader.readBoard()).rows.map(({ symbol }) => symbol).join(' ')
  if (coins) await writer.track(coins)
  return { redis, connection, writer, reader, log, raw, ask, rows, ...(await todayMinutes(connection)) }
}

/** The minutes that a reader hears from now on. */
export async function listenTo(reader: SampleReader): Promise<readonly number[]> {
  const heard: number[] = []
  await new Promise<void>(resolve => reader.followMinutes(minute => heard.push(minute), resolve))
  return heard
}

/** This minute by Redis' clock, and the first one of today, which stays today for the length of a test. */
export async function todayMinutes(connection: RedisConnection) {
  await stayClearOfMidnight(Date.now())
  const [seconds] = (await connection.call('TIME')) as string[]
  const now = minuteOf(Number(seconds) * 1000)
  return { now, today: now - (now % 1440) }
}
