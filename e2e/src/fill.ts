import {
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  minuteOf,
  premiumE4,
  type Sample,
} from '@kimchi/core'
import { createLogger } from '@kimchi/runtime'
import { openRedis, SampleWriter } from '@kimchi/store'
import type { Teardown } from '@kimchi/testkit'

const RETENTION_DAYS = 8

/**
 * Fills an empty Redis by the real writer with coins and their history. Returns what writes a minute of each coin.
 * @param days whole days of history before the retention
 */
export async function fillRedis(t: Teardown, url: string, symbols: readonly string[], days: number) {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(60_000)
  const log = createLogger('fill', 'silent')
  const writer = new SampleWriter({ redis, prices: 'live', retentionDays: RETENTION_DAYS, log })
  await writer.track(
    symbols.map(symbol => ({ symbol, name: symbol, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` })),
  )
  const oldest = dayStart(minuteOf(Date.now())) - (days + RETENTION_DAYS) * DAY_MINUTES
  for (const symbol of symbols) {
    await Promise.all(
      Array.from({ length: days }, (_, day) => writer.importDay(symbol, dayFrom(oldest + day * DAY_MINUTES))),
    )
  }
  return async (minute: EpochMinute): Promise<void> => {
    await writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  }
}

/** Another premium in each of a hundred minutes. */
export function sampleOf(symbol: string, minute: EpochMinute): Sample {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 100) * 10_000, 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

/** A whole day; others differ as much as real ones do, so that a history takes as many bytes. */
function dayFrom(firstMinute: EpochMinute) {
  const number = firstMinute / DAY_MINUTES
  const prices = { open: -12_345 + (number % 97), low: -54_321, close: 9_876, high: 43_210 + (number % 89) }
  const lastMinute = firstMinute + DAY_MINUTES - 1
  return {
    date: dateOf(firstMinute),
    ...prices,
    sum: 1_234_567 + number,
    samples: DAY_MINUTES,
    firstMinute,
    lastMinute,
  }
}
