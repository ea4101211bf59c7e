import { setTimeout as delay } from 'node:timers/promises'
import { DAY_MINUTES, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { type Simulator, startSimulator, syntheticCoins } from '@kimchi/simulator'
import { openRedis, SampleReader } from '@kimchi/store'
import { eventually, startRedis, type Teardown, withTeardown } from '@kimchi/testkit'
import { type Options, table, writeSection } from './lib/report.ts'
import { startIngester } from './lib/servers.ts'

/** Candles in an answer of Upbit. */
const PAGE = 200
/** Requests a second that an ingester makes to Upbit. */
const UPBIT_PER_SECOND = 8
/** The measurement fails when a backfill takes so many times the least time, and a minute. */
const PATIENCE = 5
/** Long enough for a gap: a silence of more than 3 s over a minute's end is one. */
const SILENCE_MS = 10_000

/** Measures how fast a real ingester fills an empty Redis and a lone gap. */
export async function backfill({ coins, days, refused }: Options): Promise<void> {
  const rows: (readonly string[])[] = []
  for (const percent of refused) rows.push(await withTeardown(t => measure(t, coins, days, percent)))
  writeSection('Backfill', [
    `A real ingester and an empty Redis, ${coins} coins, ${days} whole days and today, from the simulator at the exchanges' own limits. Least: the time that Upbit's candles need by ${PAGE}, at ${UPBIT_PER_SECOND} requests a second. A lone gap: Upbit is silent around a minute's end; the time from there until the first coin's gap is filled, and the last one's.`,
    table(['429s', 'time', '÷ least', 'a lone gap'], rows),
  ])
}

async function measure(t: Teardown, coins: number, days: number, percent: number): Promise<string[]> {
  const simulated = syntheticCoins(coins - 1)
  const exchanges = await startSimulator({ coins: simulated })
  t.teardown(() => exchanges.close())
  for (const path of ['/v1/candles', '/api/v3/klines']) {
    const share = percent / 100
    exchanges.faults.set({ kind: 'refuse', exchange: 'both', on: 'rest', path, status: 429, share })
  }
  const { url } = await startRedis(t)
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const reader = new SampleReader({ redis })
  const symbols = simulated.flatMap(({ id, binance }) => (binance ? [id] : []))
  const startedAt = Date.now()
  const newest = minuteOf(startedAt) - 1
  const oldest = newest - (newest % DAY_MINUTES) - days * DAY_MINUTES
  const minutes = newest - oldest
  // KRW-USDT is asked for too.
  const leastSeconds = ((coins + 1) * Math.ceil(minutes / PAGE)) / UPBIT_PER_SECOND
  await startIngester(t, exchanges, url, days)
  const open = [...symbols]
  const isFull = async () => {
    while (open[0] && (await reader.readOpenMinutes(open[0], oldest, newest)).length === 0) open.shift()
    return open.length === 0
  }
  // Redis answers with an error until the ingester has loaded its functions.
  const limitMs = PATIENCE * 1_000 * leastSeconds + MINUTE_MS
  await eventually('a full Redis', () => isFull().catch(() => false), limitMs, 250)
  const seconds = (Date.now() - startedAt) / 1_000
  return [
    `${percent} %`,
    `${seconds.toFixed(1)} s`,
    (seconds / leastSeconds).toFixed(2),
    await measureGap(exchanges, reader, symbols),
  ]
}

/**
 * Silences Upbit around a minute's end, so that every coin misses that minute. Returns how many seconds later the first
 * and the last coin have its candle sample.
 */
async function measureGap({ faults }: Simulator, reader: SampleReader, symbols: readonly string[]) {
  const minute = minuteOf(Date.now() + SILENCE_MS) + 1
  await delay(minuteStart(minute) - SILENCE_MS / 2 - Date.now())
  faults.set({ kind: 'silence', exchange: 'upbit', forMs: SILENCE_MS })
  await delay(minuteStart(minute) - Date.now())
  const filledAfter = symbols.map(async symbol => {
    const hasCandle = async () => {
      const { entries } = await reader.readSamples(symbol, minute, minute + 1)
      return entries.some(({ source }) => source === 'candle')
    }
    await eventually('a gap filled from candles', hasCandle, 10 * MINUTE_MS, 250)
    return (Date.now() - minuteStart(minute)) / 1_000
  })
  const sorted = (await Promise.all(filledAfter)).sort((a, b) => a - b)
  return `${sorted[0]?.toFixed(1)} s, ${sorted.at(-1)?.toFixed(1)} s`
}
