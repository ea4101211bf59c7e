import { setImmediate as turn } from 'node:timers/promises'
import { type Coin, DAY_MS, type EpochMinute, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { Backfill, type BackfillOptions } from '@kimchi/ingester/backfill'
import { createLogger } from '@kimchi/runtime'

export const DAYS = 365
export const GAPS_A_DAY = 8

const COIN: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }

/**
 * Lets backfill fill a year's lone gaps on a manual clock, with both exchanges and Redis played in this process.
 * Returns the heap's growth in MB, and the event loop's longest stretch without a turn, in ms.
 */
export async function liveAYear() {
  const start = Date.UTC(2025, 10, 20)
  const clock = createManualClock(start)
  const open = new Set<EpochMinute>()
  const ending = new AbortController()
  const context = { clock, random: Math.random, signal: ending.signal, log: createLogger('bench', 'silent') }
  const backfill = new Backfill(surroundings(open), context)
  const running = backfill.run()
  const days: { longestMs: number; heapMb: number }[] = []
  for (let day = 0; day < DAYS; day++) {
    let longestMs = 0
    for (let gap = 0; gap < GAPS_A_DAY; gap++) {
      const minute = minuteOf(start + day * DAY_MS + (gap + 0.5) * (DAY_MS / GAPS_A_DAY))
      clock.step(minuteStart(minute) + 5_000 - clock.now())
      open.add(minute)
      backfill.learn({ minute, waiting: [] })
      while (open.size > 0) {
        const before = performance.now()
        await clock.advance(250)
        longestMs = Math.max(longestMs, performance.now() - before)
        await turn()
      }
    }
    globalThis.gc?.()
    days.push({ longestMs, heapMb: process.memoryUsage().heapUsed / 1e6 })
  }
  ending.abort()
  await running
  // On the first day V8 compiles: the last day's stretch is compared with the second's.
  const [secondDayMs, lastDayMs] = [Number(days[1]?.longestMs), Number(days.at(-1)?.longestMs)]
  const heapMb = Number(days.at(-1)?.heapMb) - Number(days[0]?.heapMb)
  return { heapMb, secondDayMs, lastDayMs }
}

function surroundings(open: Set<EpochMinute>): BackfillOptions {
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
      write: async ({ samples }) => {
        for (const { minute } of samples) open.delete(minute)
        return { stored: samples.length, duplicates: 0, settled: 0, refused: [], removed: 0, primary: '' }
      },
    },
    upbitPerSecond: 8,
    rest: {
      candlePage: async ({ exchange, from, to }) => {
        await turn()
        const start = exchange === 'upbit' ? to - 200 : from
        const candleOf = (_: unknown, at: number) => [start + at, 1_400.5 + (at % 7), 1.25] as const
        return { start, candles: Array.from({ length: to - start }, candleOf) }
      },
    },
    lease: { claim: async () => true, release: async () => {}, close: async () => {} },
  }
}
