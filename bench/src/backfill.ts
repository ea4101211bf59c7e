import { fileURLToPath } from 'node:url'
import { DAY_MINUTES, minuteOf } from '@kimchi/core'
import { freePort } from '@kimchi/local-redis'
import { startSimulator, syntheticCoins } from '@kimchi/simulator'
import { openRedis, SampleReader } from '@kimchi/store'
import { eventually, startProgram, startRedis } from '@kimchi/testkit'
import { publish, table } from './lib/report.ts'
import { onStage, type Stage } from './lib/stage.ts'

const COINS = 30
/** Of candle requests, answered by a 429. */
const SHARES = [0, 0.01, 0.02]
/** Candles in an answer, and requests a second, that an exchange allows. */
const UPBIT = { page: 200, perSecond: 10 }
const BINANCE = { page: 1_000, perSecond: 50 }
const GIVE_UP_MS = 300_000

/** Measures how fast a real ingester fills an empty Redis from exchanges that refuse now and then. */
export async function backfill(): Promise<void> {
  const rows: (readonly string[])[] = []
  for (const share of SHARES) rows.push(await onStage(t => measure(t, share)))
  publish('Backfill', [
    `A real ingester and an empty Redis, ${COINS} coins, the day before and today, from the simulator at the exchanges' own limits. Least requests: each market's minutes by the page (Upbit ${UPBIT.page} candles, Binance ${BINANCE.page.toLocaleString('en')}). Least time: what Upbit's ${UPBIT.perSecond} requests a second need for its share.`,
    table(['429s', 'minutes a coin', 'time', '÷ least', 'requests', '÷ least'], rows),
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
  const oldest = newest - (newest % DAY_MINUTES) - DAY_MINUTES
  startProgram(t, [fileURLToPath(new URL('../../apps/ingester/dist/main.js', import.meta.url))], {
    ...{ COINS: 'all', PRICES: 'simulated', BACKFILL_DAYS: '1', REDIS_URL: url, LOG_LEVEL: 'warn' },
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
  const upbit = (COINS + 1) * Math.ceil(minutes / UPBIT.page)
  const least = upbit + COINS * Math.ceil(minutes / BINANCE.page)
  return [
    `${100 * share} %`,
    `${minutes}`,
    `${seconds.toFixed(1)} s`,
    (seconds / (upbit / UPBIT.perSecond)).toFixed(2),
    `${requests}`,
    (requests / least).toFixed(3),
  ]
}
