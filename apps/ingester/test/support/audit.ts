import {
  type Coin,
  type Day,
  type EpochMinute,
  foldDays,
  MINUTE_MS,
  minuteStart,
  premiumE4,
  RATE_MARKET,
} from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { World } from './world.ts'

/** The three prices of a sample, or why there must be none. */
export type Truth = readonly [upbitKrw: number, binanceUsdt: number, usdtKrw: number] | 'down' | 'unknown'

/** What is true of a coin's minute by the definitions of docs/architecture.md#samples-and-gaps, worked out from trades and nothing else. */
export function truthOf(world: World, coin: Coin, minute: EpochMinute): Truth {
  const end = minuteStart(minute)
  const start = end - MINUTE_MS
  const traded = (exchange: 'upbit' | 'binance', ...markets: string[]) =>
    markets.some(market => world.trades(exchange, market, start, end).length > 0)
  if (!traded('upbit', 'KRW-BTC', RATE_MARKET, coin.upbit)) return 'down'
  if (!traded('binance', 'BTCUSDT', coin.binance)) return 'down'
  const krw = world.lastTrade('upbit', coin.upbit, end)
  const rate = world.lastTrade('upbit', RATE_MARKET, end)
  const usdt = world.lastTrade('binance', coin.binance, end)
  if (krw === undefined || rate === undefined || usdt === undefined) return 'unknown'
  if (krw.at < end - 3_600_000 || rate.at < end - 3_600_000) return 'unknown'
  return [krw.price, usdt.price, rate.price]
}

/** Everything that is wrong with a coin's stored candle samples in [from, to), one line each. */
export async function auditCandles(
  reader: SampleReader,
  world: World,
  coin: Coin,
  from: EpochMinute,
  to: EpochMinute,
): Promise<{ wrong: string[]; samples: number; gaps: number }> {
  const { entries } = await reader.readSamples(coin.symbol, from, to)
  const stored = new Map(entries.map(sample => [sample.minute, sample]))
  const wrong: string[] = []
  let gaps = 0
  for (let minute = from; minute < to; minute++) {
    const truth = truthOf(world, coin, minute)
    const sample = stored.get(minute)
    if (typeof truth === 'string') {
      gaps += 1
      if (sample !== undefined) wrong.push(`${coin.symbol} ${minute}: a sample although ${truth}`)
    } else if (sample === undefined) {
      wrong.push(`${coin.symbol} ${minute}: missing`)
    } else if (sample.source === 'candle' && sample.premiumE4 !== premiumE4(...truth)) {
      wrong.push(`${coin.symbol} ${minute}: premium ${sample.premiumE4}, must be ${premiumE4(...truth)}`)
    }
  }
  wrong.push(...(await wrongDays(reader, coin)))
  return { wrong, samples: entries.length, gaps }
}

/** Daily rows of a coin that are not the fold of its stored samples. */
export async function wrongDays(reader: SampleReader, { symbol }: Coin): Promise<string[]> {
  const { entries: days } = await reader.readDays(symbol)
  const wrong: string[] = []
  for (const day of days) {
    const midnight = Date.parse(`${day.date}T00:00:00Z`) / MINUTE_MS
    const { entries } = await reader.readSamples(symbol, midnight, midnight + 1_440)
    const [folded] = foldDays(entries)
    if (!isSameDay(folded, day)) wrong.push(`${symbol} ${day.date}: ${JSON.stringify({ day, folded })}`)
  }
  return wrong
}

function isSameDay(a: Day | undefined, b: Day): boolean {
  return a !== undefined && (Object.keys(b) as (keyof Day)[]).every(field => a[field] === b[field])
}
