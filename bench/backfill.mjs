import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openBackfillLease } from '../apps/ingester/dist/backfill/backfill-lease.js'
import { createBackfill } from '../apps/ingester/dist/backfill/run-backfill.js'
import { minuteOf, minuteStart } from '../packages/core/dist/index.js'
import { createRestBases, openRestChild } from '../packages/feeds/dist/index.js'
import { createLogger, systemClock } from '../packages/runtime/dist/index.js'
import { createReader, createWriter, openRedis } from '../packages/store/dist/index.js'
import { startRedis } from '../packages/testkit/dist/index.js'
import { machine, median, publish, table } from './lib/report.mjs'

const COINS = 195
/** The exchanges' limits, and with them our pace, are this much higher, so that a run takes a minute. */
const FACTOR = 5
const DAYS = 1
const SHARES = (process.argv[2] ?? '0,0.01,0.02').split(',').map(Number)
/** Minutes of which every coin is missing, one after the other. */
const HOLES = Number(process.argv[3] ?? 2)
const GIVE_UP_MS = 240_000

/** Candles in an answer, and requests a second, that an exchange allows. Binance: 6,000 of weight a minute, 2 each. */
const LIMITS = { upbit: { page: 200, perSecond: 10 }, binance: { page: 1_000, perSecond: 50 } }

const symbols = ['BTC', ...Array.from({ length: COINS - 1 }, (_, at) => `SYN${String(at).padStart(3, '0')}`)]
const coins = symbols.map(symbol => ({
  symbol,
  name: symbol,
  upbit: `KRW-${symbol}`,
  binance: `${symbol}USDT`,
}))

/** @type {string[][]} */
const rows = []
for (const share of SHARES) rows.push(await measureFill(share))
const holes = await measureHoles()
publish('backfill', report())

/**
 * An empty Redis filled by a real backfill.
 * @param {number} share of candle requests that get a 429
 */
async function measureFill(share) {
  const bench = await open(FACTOR, share)
  const startedAt = Date.now()
  const newest = minuteOf(startedAt - 10_000)
  const oldest = minuteOf(startedAt) - (minuteOf(startedAt) % 1_440) - DAYS * 1_440
  const minutes = newest - oldest + 1
  const backfill = bench.start(FACTOR)
  await until(
    () => backfill.status().passes > 0,
    () => JSON.stringify(backfill.status()),
  )
  const seconds = (Date.now() - startedAt) / 1_000
  const requests = await bench.requests()
  const missing = await bench.missing(oldest, newest + 1)
  await bench.close()
  if (missing > 0) throw new Error(`${missing} minutes are still missing`)
  // KRW-USDT besides; KRW-BTC and BTCUSDT are among the coins.
  const upbit = (COINS + 1) * Math.ceil(minutes / LIMITS.upbit.page)
  const binance = COINS * Math.ceil(minutes / LIMITS.binance.page)
  const leastSeconds = Math.max(upbit / LIMITS.upbit.perSecond, binance / LIMITS.binance.perSecond) / FACTOR
  const made = requests.upbit + requests.binance
  const row = [
    `${100 * share} %`,
    `${minutes}`,
    `${seconds.toFixed(1)} s`,
    `${leastSeconds.toFixed(1)} s`,
    `${(seconds / leastSeconds).toFixed(2)} ×`,
    `${made} (${requests.refused} refused)`,
    `${upbit + binance}`,
    `${(made / (upbit + binance)).toFixed(3)} ×`,
  ]
  process.stderr.write(`${row.join(', ')}\n`)
  return row
}

/**
 * At the exchanges' own limits: every coin's minute is missing, known 5 s after its end.
 * @returns seconds from then until its sample is stored, for each coin and minute
 */
async function measureHoles() {
  const bench = await open(1, 0)
  await bench.fillTo(minuteOf(Date.now()))
  const backfill = bench.start(1)
  const took = []
  for (let hole = 0; hole < HOLES; hole++) {
    const minute = minuteOf(Date.now()) + 1
    await wait(minuteStart(minute) + 5_000 - Date.now())
    const knownAt = Date.now()
    backfill.learn({ minute, missing: symbols })
    const open = new Set(symbols)
    await until(
      async () => {
        for (const symbol of open) {
          if ((await bench.reader.readOpenMinutes(symbol, minute, minute + 1)).length > 0) continue
          open.delete(symbol)
          took.push((Date.now() - knownAt) / 1_000)
        }
        return open.size === 0
      },
      () => `${open.size} coins lack minute ${minute}`,
    )
  }
  await bench.close()
  process.stderr.write(`holes: median ${median(took)} s, worst ${Math.max(...took)} s\n`)
  return took
}

/**
 * Exchanges and a Redis of their own.
 * @param {number} factor
 * @param {number} share
 */
async function open(factor, share) {
  const exchange = fork(
    join(import.meta.dirname, 'backfill/exchange.mjs'),
    [COINS, factor, share].map(String),
  )
  const [{ url }] = await once(exchange, 'message')
  const server = await startRedis()
  const redis = openRedis(server.url)
  await redis.untilReady(5_000)
  const log = createLogger('bench', 'silent')
  const writer = createWriter({ redis, prices: 'simulated', retentionDays: 8, log })
  const reader = createReader({ redis })
  const ending = new AbortController()
  /** @type {Promise<unknown>[]} */
  const running = []
  await writer.track(coins)
  return {
    reader,
    /** @param {number} speed */
    start: speed => {
      const rest = openRestChild(
        { bases: createRestBases(url, url, { clock: systemClock, log }), speed },
        { log },
      )
      const backfill = createBackfill(
        {
          quarantine: { tracked: coins, untested: [], check: (_minute, samples) => samples },
          tracking: { apply: () => {} },
          days: DAYS,
          reader,
          writer,
          fetchPage: (exchange, market, { start, end }) =>
            rest.candlePage({ exchange, market, from: start, to: end }, ending.signal),
          lease: openBackfillLease(redis, 'bench'),
        },
        { clock: systemClock, random: Math.random, signal: ending.signal, log },
      )
      running.push(backfill.run().then(() => rest.close()))
      return backfill
    },
    /** Nothing before this minute is left to do: all of it was halted. @param {number} minute */
    fillTo: async minute => {
      const oldest = minute - (minute % 1_440) - DAYS * 1_440
      for (let at = oldest; at <= minute; at++) {
        const settled = symbols.map(symbol => ({ symbol, minute: at, reason: 'halted' }))
        await writer.write({ minute: at, samples: [], settled })
      }
    },
    requests: async () => {
      exchange.send('how many')
      const [requests] = await once(exchange, 'message')
      return requests
    },
    /** @param {number} from @param {number} to */
    missing: async (from, to) => {
      const all = await Promise.all(symbols.map(symbol => reader.readOpenMinutes(symbol, from, to)))
      return all.flat().reduce((sum, { start, end }) => sum + end - start, 0)
    },
    close: async () => {
      ending.abort()
      await Promise.all(running)
      exchange.disconnect()
      await redis.close()
      await server.close()
    },
  }
}

/**
 * @param {() => boolean | Promise<boolean>} isOver
 * @param {() => string} where
 */
async function until(isOver, where) {
  const giveUpAt = Date.now() + GIVE_UP_MS
  while (!(await isOver())) {
    if (Date.now() > giveUpAt) {
      process.stderr.write(`not over after ${GIVE_UP_MS / 1_000} s: ${where()}\n`)
      process.exit(1)
    }
    await wait(100)
  }
}

/** @param {number} ms */
function wait(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function report() {
  const head = ['429s', 'minutes a coin', 'time', 'least', 'ratio', 'requests', 'least', 'ratio']
  return `## Backfill

${machine()}. A real backfill of ${COINS} coins into an empty Redis,
from the simulator at ${FACTOR} times the exchanges' limits and our pace, with a share of the candle requests
answered by a 429 (\`node bench/backfill.mjs\`). A refused request waits a second, which weighs ${FACTOR} times as
much here. Goals: 1.25 × the time, 1.1 × the requests.

${table(head, rows)}

- Least requests: for each market the minutes divided by a page (Upbit ${LIMITS.upbit.page} candles, Binance ${LIMITS.binance.page.toLocaleString('en')}),
  rounded up; ${COINS} markets on each exchange, and KRW-USDT.
- Least time: what the slower exchange, Upbit with ${LIMITS.upbit.perSecond * FACTOR} requests a second, needs for its share of them.

A minute of which all ${COINS} coins are missing, at the exchanges' own limits: from the moment it is known, 5 s
after its end, until the sample is stored it takes ${median(holes).toFixed(0)} s in the median and ${Math.max(...holes).toFixed(0)} s at worst, over
${HOLES} minutes. Candles are not read before 10 s after the end; the rest is the rate limit. Goal: 120 s.`
}
