import { type Coin, DAY_MINUTES, type EpochMinute, minuteOf, minuteStart } from '@kimchi/core'
import type { CandleRequest, MinuteCandle } from '@kimchi/feeds'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { Backfill, COINS_AT_ONCE } from '../../src/backfill/run-backfill.ts'
import { silent } from '../support/backfill-bench.ts'

/** The start of a UTC day, and of a block of either exchange. */
const TODAY = 16_000 * 1_800
const DAYS = 1
const COINS = Array.from({ length: COINS_AT_ONCE + 4 }, (_, at): Coin => {
  return { symbol: `C${at}`, name: `C${at}`, upbit: `KRW-C${at}`, binance: `C${at}USDT` }
})

/** As much of Redis as backfill asks: which minutes are open. */
function openStore() {
  const stored = new Map(COINS.map(({ symbol }) => [symbol, new Set<EpochMinute>()]))
  const reader = {
    readSamples: async () => ({ entries: [], corrupt: 0 }),
    readOpenMinutes: async (symbol: string, from: EpochMinute, to: EpochMinute) => {
      const known = stored.get(symbol) ?? new Set()
      const open = Array.from({ length: to - from }, (_, at) => from + at).filter(
        minute => !known.has(minute),
      )
      return open.map(minute => ({ start: minute, end: minute + 1 }))
    },
  }
  const writer = {
    write: async ({ samples }: { samples: readonly { symbol: string; minute: EpochMinute }[] }) => {
      for (const { symbol, minute } of samples) stored.get(symbol)?.add(minute)
      return { stored: samples.length, duplicates: 0, settled: 0, refused: [], primary: '' }
    },
  }
  return { stored, reader, writer }
}

t.test('each closed block is fetched once, for more coins than are filled at once', async t => {
  const clock = createManualClock(minuteStart(TODAY) + 30_000)
  const { stored, reader, writer } = openStore()
  const fetches = new Map<string, number>()
  const ending = new AbortController()
  const fetchCandles = async ({ market, count, last = minuteOf(clock.now()) + 1 }: CandleRequest) => {
    const key = `${market} ${last}`
    if (last < TODAY - 20) fetches.set(key, (fetches.get(key) ?? 0) + 1)
    const close = market === 'KRW-USDT' ? 1_400 : market.startsWith('KRW-') ? 141_400 : 100
    return {
      candles: Array.from({ length: count }, (_, at): MinuteCandle => [last - count + at + 1, close, 1]),
    }
  }
  const backfill = new Backfill(
    {
      days: DAYS,
      reader,
      writer,
      rest: { fetchCandles },
      upbitPerSecond: 400,
    },
    { clock, random: () => 0.5, signal: ending.signal, log: silent },
  )
  backfill.follow(COINS)
  const running = backfill.run()
  t.teardown(async () => {
    ending.abort()
    await running
  })
  const isWhole = () => [...stored.values()].every(minutes => minutes.size >= DAYS * DAY_MINUTES)
  for (let steps = 0; !isWhole() && steps < 20_000; steps++) {
    await new Promise(setImmediate)
    await clock.advance(200)
  }
  t.ok(isWhole())
  const twice = [...fetches].filter(([, count]) => count > 1)
  t.strictSame(twice, [])
  t.comment(`${fetches.size} blocks`)
})
