import { DAY_MINUTES, DAY_MS, minuteOf, premiumE4 } from '@kimchi/core'
import { createLogger } from '@kimchi/runtime'
import { openRedis, SampleWriter } from '@kimchi/store'
import type { Teardown } from '@kimchi/testkit'

const RETENTION_DAYS = 8

/**
 * Fills an empty Redis by the real writer, and writes each minute from the present one on within 5 s.
 * @param days whole days of history before the retention
 */
export async function fill(t: Teardown, url: string, coins: number, days: number) {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const symbols = ['BTC', ...Array.from({ length: coins - 1 }, (_, n) => `C${n}`)]
  const log = createLogger('bench', 'silent')
  const writer = new SampleWriter({ redis, prices: 'simulated', retentionDays: RETENTION_DAYS, log })
  await writer.track(
    symbols.map(symbol => ({ symbol, name: symbol, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` })),
  )
  const oldest = Math.floor(Date.now() / DAY_MS) - days - RETENTION_DAYS
  for (const symbol of symbols) {
    await Promise.all(Array.from({ length: days }, (_, n) => writer.importDay(symbol, dayOf(oldest + n))))
  }
  const writeMinute = async () => {
    const minute = minuteOf(Date.now())
    await writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  }
  await writeMinute()
  // Redis ignores a repeated minute.
  const timer = setInterval(() => void writeMinute(), 5_000)
  t.teardown(() => clearInterval(timer))
}

/** @param day since 1970 */
function dayOf(day: number) {
  const date = new Date(day * DAY_MS).toISOString().slice(0, 10)
  const firstMinute = day * DAY_MINUTES
  const prices = { open: -12_345 + (day % 97), low: -54_321, close: 9_876, high: 43_210 + (day % 89) }
  const lastMinute = firstMinute + DAY_MINUTES - 1
  return { date, ...prices, sum: 1_234_567 + day, samples: DAY_MINUTES, firstMinute, lastMinute }
}

function sampleOf(symbol: string, minute: number) {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 1_000), 101_250.5, 1_400] as const
  const e4 = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: e4, source: 'live' as const }
}
