import { Writable } from 'node:stream'
import './sync-zlib.ts'
import { createApp } from '@kimchi/api/app'
import { Documents } from '@kimchi/api/documents'
import { followRedis } from '@kimchi/api/start'
import type { KimchiError, Log, Milliseconds } from '@kimchi/core'
import { createDoors, RestClient } from '@kimchi/feeds'
import { type Ingester, startIngester } from '@kimchi/ingester'
import { readConfig } from '@kimchi/ingester/config'
import { runImport } from '@kimchi/ingester/import'
import { openRedis, SampleReader } from '@kimchi/store'
import { MEMORY_URLS } from '@kimchi/testkit'
import type { openExchanges, Weather } from './exchanges.ts'
import type { DayRedis } from './redis.ts'
import { Host, type World } from './world.ts'

export const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'KNC']

/** Single samples are kept so long; what is older can be imported. */
export const RETENTION_DAYS = 2

/** Each exchange has two of a kind. */
const BASES = Object.fromEntries(
  Object.entries(MEMORY_URLS).map(([name, url]) => [name, `${url},${url.replace(/upbit|binance/, '$&-2')}`]),
)

const ENV = {
  PRICES: 'simulated',
  COINS: COINS.join(),
  SAMPLE_RETENTION_DAYS: String(RETENTION_DAYS),
  BACKFILL_DAYS: '1',
  OPS_PORT: '0',
  REDIS_URL: 'redis://day:6379',
  ...BASES,
}

/** One ingester of the day: its code is the real one, its time and its network the world's. */
export type DayIngester = ReturnType<typeof createIngester>

export function createIngester(
  name: string,
  world: World,
  exchanges: ReturnType<typeof openExchanges>,
  redis: DayRedis,
  isAll: boolean,
  log: Log,
) {
  const weather = fairWeather()
  let host = new Host(name, world)
  let running: Ingester | undefined
  return {
    /** Another one after each start. */
    get host() {
      return host
    },
    weather,
    async start() {
      host = new Host(name, world)
      const network = exchanges.networkOf(host, weather)
      running = await startIngester(readConfig(isAll ? { ...ENV, COINS: 'all' } : ENV), {
        log,
        clock: host,
        random: host.random,
        id: name,
        version: 'days',
        network: { ...network, redis: redis.networkOf(host) },
      })
      const own = host
      running.failed.catch((error: KimchiError) => {
        if (error.code !== 'KIMCHI_ERR_UNKNOWN_SYMBOL') throw error
        // A list lacked a coin that was never published. Docker starts it again.
        void this.end()
        world.after(10_000, () => (host === own ? this.start() : undefined))
      })
    },
    /** Resolves when it has ended, which takes time of the world. */
    async end() {
      const ending = running
      running = undefined
      await ending?.close()
    },
    /** Nothing that it does from now on reaches anybody. */
    kill() {
      host.isDead = true
      for (const way of exchanges.ways) if (way.host === host) way.wire.cut(true)
      redis.cut(host)
      void this.end()
    },
    isRunning: () => running !== undefined,
  }
}

function fairWeather(): Weather {
  return { latencyMs: 40, stalledUntil: 0, copies: 1 }
}

/**
 * An operator's import of the day before the retention, of these coins; the returned function is Ctrl-C.
 * @param onEnd hears what it has printed, when it has ended
 */
export function startImport(
  world: World,
  exchanges: ReturnType<typeof openExchanges>,
  redis: DayRedis,
  coins: readonly string[],
  onEnd: (printed: string) => void,
): () => void {
  const host = new Host('import', world)
  const stopping = new AbortController()
  let printed = ''
  const terminal = new Writable({
    write(text, _encoding, done) {
      printed += text
      done()
    },
  })
  const running = runImport({
    args: ['--days', String(RETENTION_DAYS + 1), '--coins', coins.join()],
    env: ENV,
    version: 'days',
    stdout: terminal,
    stderr: terminal,
    clock: host,
    random: host.random,
    signal: stopping.signal,
    network: {
      ...exchanges.networkOf(host, fairWeather()),
      redis: redis.networkOf(host),
    },
  })
  void running.then(() => onEnd(printed.trim()))
  return () => stopping.abort()
}

/** Loads what the first request of a process loads from the disk, for which the world's clock could not wait. */
export async function warmUp(): Promise<void> {
  const { signal } = new AbortController()
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const fetch = () => Promise.reject(new Error('only a warm-up'))
  const clock = { now: () => 0, elapsed: () => 0, wait: async () => {} }
  const none = { upbit: '', binance: '' }
  const doors = createDoors(
    { streams: none, rest: none, userAgent: '', fetch },
    { clock, log, signal, random: () => 0 },
  )
  await new RestClient(doors).fetchListings().catch(() => {})
}

/** One replica: its documents, kept up to date as the API does, and its routes. */
export type DayReplica = Awaited<ReturnType<typeof createReplica>>

/** @param skew how far its clock is ahead of the true time, always */
export async function createReplica(
  name: string,
  world: World,
  redis: DayRedis,
  log: Log,
  skew: Milliseconds,
) {
  const host = new Host(name, world, skew)
  const connection = openRedis(ENV.REDIS_URL, {
    random: host.random,
    ...redis.networkOf(host),
  })
  const reader = new SampleReader({ redis: connection })
  const documents = new Documents({ reader, clock: host, log })
  const { app } = createApp({ documents, clock: host, log })
  await app.ready()
  void documents.poll()
  followRedis(connection, reader, documents)
  return {
    host,
    documents,
    app,
    close: async () => {
      documents.close()
      await connection.close()
    },
  }
}
