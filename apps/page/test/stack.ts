import { fileURLToPath } from 'node:url'
import {
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  formatTimestamp,
  minuteOf,
  premiumE4,
} from '@kimchi/core'
import { freePort } from '@kimchi/local-redis'
import { openRedis, SampleWriter } from '@kimchi/store'
import {
  createMemoryLog,
  eventually,
  type Program,
  startProgram,
  startRedis,
  stayClearOfMidnight,
  type Teardown,
} from '@kimchi/testkit'
import { liveListOf } from './answers.ts'

/** The real API on prices that a test writes. */
export interface Stack {
  /** Base of the API. */
  readonly api: string
  /** Has the API serve the next minute. */
  writeNext(): Promise<void>
  /** Ends the API at once (SIGKILL). */
  killApi(): Promise<void>
  startApi(): Promise<void>
}

const API = fileURLToPath(new URL('../../api/dist/main.js', import.meta.url))
const COINS = liveListOf('').data
const RETENTION_DAYS = 8
const IMPORTED_DAYS = 30

/** Starts everything, with a minute to show; torn down with the test. */
export async function startStack(t: Teardown): Promise<Stack> {
  await stayClearOfMidnight(Date.now())
  const redis = await startRedis(t)
  const write = await openPrices(t, redis.url)
  const port = await freePort()
  const api = `http://127.0.0.1:${port}`
  const untilServed = (minute: EpochMinute) =>
    eventually(`minute ${minute}`, async () => {
      const answer = await fetch(`${api}/api/v1/kimchi-premium`).catch(() => undefined)
      return answer?.ok && (await answer.json()).updated_at === formatTimestamp(minute)
    })
  // Not the first of the day: a row may have to be older and of today.
  let newest = Math.max(minuteOf(Date.now()) - 1, dayStart(minuteOf(Date.now())) + 1)
  const writeNewest = async () => {
    await write(newest)
    await untilServed(newest)
  }
  let program: Program
  const startApi = async () => {
    const env = { REDIS_URL: redis.url, HOST: '127.0.0.1', PORT: String(port), OPS_PORT: '0' }
    program = startProgram(t, ['--enable-source-maps', API], env)
    await writeNewest()
  }
  await startApi()
  return {
    api,
    writeNext: () => {
      newest += 1
      return writeNewest()
    },
    startApi,
    killApi: async () => void (await program.end('SIGKILL')),
  }
}

/** Writes whole days of ETH, a partial yesterday of every coin, and then whatever minute it is given. */
async function openPrices(t: Teardown, url: string) {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const writer = new SampleWriter({
    redis,
    prices: 'simulated',
    retentionDays: RETENTION_DAYS,
    log: createMemoryLog(),
  })
  const write = async (minute: EpochMinute) => {
    // Each time, or they would leave the list of a slow test.
    await writer.track(
      COINS.map(({ symbol, name }) => ({ symbol, name, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` })),
    )
    await writer.write({ minute, samples: samplesOf(minute) })
  }
  const today = dayStart(minuteOf(Date.now()))
  for (const minute of [1, 700, 1_439]) await write(today - DAY_MINUTES + minute)
  for (let day = RETENTION_DAYS + IMPORTED_DAYS; day > RETENTION_DAYS; day -= 1)
    await writer.importDay('ETH', wholeDay(today - day * DAY_MINUTES, day))
  return write
}

function samplesOf(minute: EpochMinute) {
  return COINS.map(({ symbol, upbit_krw, binance_usdt, usdt_krw }) => {
    const upbitKrw = Math.round(upbit_krw) + (minute % 10)
    const premium = premiumE4(upbitKrw, binance_usdt, usdt_krw)
    const prices = { upbitKrw, binanceUsdt: binance_usdt, usdtKrw: usdt_krw, premiumE4: premium }
    return { symbol, minute, ...prices, source: 'live' as const }
  })
}

function wholeDay(firstMinute: EpochMinute, variant: number) {
  const [open, close, samples] = [10_000 + 100 * variant, 10_000 + 101 * variant, DAY_MINUTES]
  return {
    date: dateOf(firstMinute),
    open,
    high: close + 300,
    low: open - 300,
    close,
    sum: open * samples,
    samples,
    firstMinute,
    lastMinute: firstMinute + samples - 1,
  }
}
