import { fileURLToPath } from 'node:url'
import { DAY_MINUTES, minuteOf } from '@kimchi/core'
import { freePort } from '@kimchi/local-redis'
import { startSimulator, syntheticCoins } from '@kimchi/simulator'
import { openRedis, SampleReader } from '@kimchi/store'
import { eventually, startProgram, startRedis } from '@kimchi/testkit'
import { publish, table } from './lib/report.ts'
import { onStage, type Stage } from './lib/stage.ts'
import { GAPS_A_DAY, liveAYear, DAYS as YEAR } from './lib/year.ts'

const COINS = 16
/** Whole UTC days before today. */
const DAYS = 7
/** Of candle requests, answered by a 429. */
const SHARES = [0, 0.01, 0.02]
/** Candles in an answer. */
const PAGE = { upbit: 200, binance: 1_000 }
/** Requests a second that an ingester makes to Upbit. */
const UPBIT_PER_SECOND = 8
const GIVE_UP_MS = 600_000

/** Measures how fast a real ingester fills an empty Redis from exchanges that refuse now and then. */
export async function backfill(): Promise<void> {
  const rows: (readonly string[])[] = []
  for (const share of SHARES) rows.push(await onStage(t => measure(t, share)))
  const year = await liveAYear()
  publish('Backfill', [
    `A real ingester and an empty Redis, ${COINS} coins, ${DAYS} days and today, from the simulator at the exchanges' own limits. Least requests: each market's minutes by the page (Upbit ${PAGE.upbit} candles, Binance ${PAGE.binance.toLocaleString('en')}). Least time: what our ${UPBIT_PER_SECOND} requests a second to Upbit need for its share.`,
    table(['429s', 'minutes a coin', 'time', '÷ least', 'requests', '÷ least'], rows),
    `Over ${YEAR} days of uptime with ${GAPS_A_DAY} lone gaps each, by a clock that is turned, the heap grew by ${year.heapMb.toFixed(1)} MB. The longest stretch without a turn of the event loop took ${year.firstDayMs.toFixed(2)} ms on the second day and ${year.lastDayMs.toFixed(2)} ms on the last.`,
  ])
}

async function measure(t: Stage, share: number): Promise<readonly string[]> {
  let requests = 0
  const exchanges = await startSimulator({
    coins: syntheticCoins(COINS - 1),
    onRequest: ({ path }) => {
      if (/candles|klines/.test(path)) requests += 1
    },
  })
  t.teardown(() => exchanges.close())
  for (const path of ['/v1/candles', '/api/v3/klines']) {
    if (share > 0)
      exchanges.faults.set({ kind: 'refuse', exchange: 'both', on: 'rest', path, status: 429, share })
  }
  const { url } = await startRedis(t)
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const startedAt = Date.now()
  const newest = minuteOf(startedAt) - 1
  const oldest = newest - (newest % DAY_MINUTES) - DAYS * DAY_MINUTES
  startProgram(t, [fileURLToPath(new URL('../../apps/ingester/dist/main.js', import.meta.url))], {
    ...{ COINS: 'all', PRICES: 'simulated', BACKFILL_DAYS: `${DAYS}`, REDIS_URL: url, LOG_LEVEL: 'warn' },
    ...{ OPS_PORT: `${await freePort()}`, UPBIT_WS_URL: exchanges.upbitWsUrl, UPBIT_REST_URL: exchanges.url },
    ...{ BINANCE_WS_URL: exchanges.binanceWsUrl, BINANCE_REST_URL: exchanges.url },
  })
  const reader = new SampleReader({ redis })
  const symbols = syntheticCoins(COINS - 1).flatMap(({ upbit, binance }) =>
    upbit && binance ? [upbit.base] : [],
  )
  const isFull = async () => {
    for (const symbol of symbols) {
      if ((await reader.readOpenMinutes(symbol, oldest, newest)).length > 0) return false
    }
    return true
  }
  // Until the ingester has loaded its functions, Redis refuses to say.
  await eventually('a full Redis', () => isFull().catch(() => false), GIVE_UP_MS, 250)
  const seconds = (Date.now() - startedAt) / 1_000
  const minutes = newest - oldest
  // KRW-USDT besides.
  const upbit = (COINS + 1) * Math.ceil(minutes / PAGE.upbit)
  const least = upbit + COINS * Math.ceil(minutes / PAGE.binance)
  return [
    `${100 * share} %`,
    `${minutes}`,
    `${seconds.toFixed(1)} s`,
    (seconds / (upbit / UPBIT_PER_SECOND)).toFixed(2),
    `${requests}`,
    (requests / least).toFixed(3),
  ]
}
