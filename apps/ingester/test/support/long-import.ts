// Imports of coins that trade each minute, without exchanges and Redis: node long-import.ts COINS DAYS
import { type Coin, minuteOf } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import { HistoryImport } from '../../src/backfill/import-history.ts'

const [count = 0, days = 0] = process.argv.slice(2).map(Number)
const coins = Array.from({ length: count }, (_, at): Coin => {
  return { symbol: `C${at}`, name: `C${at}`, upbit: `KRW-C${at}`, binance: `C${at}USDT` }
})
const clock = createManualClock(Date.UTC(2026, 10, 20, 12))
let stored = 0
let requests = 0
/** What is begun and not ended after so many requests would have ended long ago if it had been laid out. */
const ENOUGH = 1_500
const ending = new AbortController()
const importing = new HistoryImport(
  {
    ...{ coins, days, retentionDays: 8 },
    reader: {
      readDays: async () => ({ entries: [], corrupt: 0 }),
      readImported: async () => [],
    },
    writer: {
      importDay: async () => {
        stored += 1
        return 'stored'
      },
      markImported: async () => {},
    },
    rest: {
      fetchCandles: async ({ market, count, last = Number.POSITIVE_INFINITY }) => {
        requests += 1
        if (requests > ENOUGH) ending.abort(new Error('enough'))
        ending.signal.throwIfAborted()
        const end = Math.min(last, minuteOf(clock.now()) + 1)
        const price = market === 'KRW-USDT' ? 1_400 : market.startsWith('KRW-') ? 141_400 : 100
        return {
          candles: Array.from({ length: count }, (_, at): MinuteCandle => [end - count + at + 1, price, 1]),
        }
      },
    },
    onProgress: () => {},
  },
  { clock, random: () => 0.5, signal: ending.signal, log: console },
)
const skipped = await importing.run().catch((thrown: Error) => {
  if (thrown.message !== 'enough') throw thrown
  return []
})
ending.abort()
const heap = Math.round(process.memoryUsage().heapUsed / 1e6)
process.stdout.write(`stored ${stored} days, ${skipped.length} skipped, heap ${heap} MB\n`)
