import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Coin, DAY_MS, type EpochMinute, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { Backfill, type BackfillOptions } from '@kimchi/ingester/backfill'
import { createLogger } from '@kimchi/runtime'

export const DAYS = 365
export const GAPS_A_DAY = 8

const COIN: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }

/** What a year of uptime costs backfill: heap in MB, and the longest stretch without a turn of the loop in ms. */
export interface Year {
  readonly heapMb: number
  readonly firstDayMs: number
  readonly lastDayMs: number
}

/** Lets a backfill live for a year of a clock that is turned, with lone gaps, exchanges and a Redis in this process. */
export async function liveAYear(): Promise<Year> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const start = Date.UTC(2025, 10, 20)
  const clock = createManualClock(start)
  const open = new Set<EpochMinute>()
  const ending = new AbortController()
  const log = createLogger('bench', 'silent')
  const backfill = new Backfill(stage(open), { clock, random: Math.random, signal: ending.signal, log })
  const running = backfill.run()
  const longest: number[] = []
  const heaps: number[] = []
  for (let day = 0; day < DAYS; day++) {
    longest.push(0)
    for (let gap = 0; gap < GAPS_A_DAY; gap++) {
      const minute = minuteOf(start + day * DAY_MS + (gap + 0.5) * (DAY_MS / GAPS_A_DAY))
      clock.step(minuteStart(minute) + 5_000 - clock.now())
      open.add(minute)
      backfill.learn({ minute, waiting: [] })
      while (open.size > 0) {
        const before = performance.now()
        await clock.advance(250)
        longest[day] = Math.max(longest[day] ?? 0, performance.now() - before)
        await new Promise(resolve => setImmediate(resolve))
      }
    }
    collect()
    heaps.push(process.memoryUsage().heapUsed / 1e6)
  }
  ending.abort()
  await running
  // The first day also compiles; it is not what the last is held against.
  return {
    heapMb: (heaps.at(-1) ?? 0) - (heaps[0] ?? 0),
    firstDayMs: longest[1] ?? 0,
    lastDayMs: longest.at(-1) ?? 0,
  }
}

function stage(open: Set<EpochMinute>): BackfillOptions {
  return {
    quarantine: { tracked: [COIN], untested: [] },
    release: samples => samples,
    days: 7,
    reader: {
      readOpenMinutes: async (_symbol, from, to) =>
        [...open].filter(at => at >= from && at < to).map(at => ({ start: at, end: at + 1 })),
      readSamples: async () => ({ entries: [], corrupt: 0 }),
    },
    writer: {
      verify: async () => {},
      write: async ({ samples }) => {
        for (const { minute } of samples) open.delete(minute)
        return { stored: samples.length, duplicates: 0, settled: 0, refused: [], removed: 0, primary: '' }
      },
    },
    upbitPerSecond: 8,
    rest: {
      candlePage: async ({ exchange, from, to }) => {
        await new Promise(resolve => setImmediate(resolve))
        const start = exchange === 'upbit' ? to - 200 : from
        const candles = Array.from({ length: to - start }, (_, at) => [start + at, 1_400.5 + (at % 7), 1.25])
        // As from another process: each answer is all new.
        return JSON.parse(JSON.stringify({ candles }))
      },
    },
    lease: { claim: async symbols => new Set(symbols), close: async () => {} },
  }
}
