import { type Coin, HOUR_MS, minuteOf, minuteStart, premiumE4, RATE_MARKET, type Sample } from '@kimchi/core'
import type { CandleRequest, MinuteCandle } from '@kimchi/feeds'
import { startSimulator } from '@kimchi/simulator'
import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { CandleBlockCache } from '../../src/backfill/candle-block-cache.ts'
import { measureDrift } from '../../src/backfill/measure-drift.ts'
import { BTC, ETH, KNC, YESTERDAY } from '../support/backfill-bench.ts'

const simulator = await startSimulator({ pumpMs: 0 })
t.teardown(() => simulator.close())
const { prices } = simulator
/** The ten minutes that are compared: the newest is five minutes old. */
const range = { start: YESTERDAY + 186, end: YESTERDAY + 196 }
const NOW = minuteStart(YESTERDAY + 200) + 30_000

/** Samples of feeds that saw every trade. */
function liveSamples({ symbol, upbit, binance }: Coin): Sample[] {
  const samples: Sample[] = []
  for (let minute = range.start; minute < range.end; minute++) {
    const end = minuteStart(minute)
    const upbitKrw = prices.lastTrade('upbit', upbit, end)?.price ?? 0
    const binanceUsdt = prices.lastTrade('binance', binance, end)?.price ?? 0
    const usdtKrw = prices.lastTrade('upbit', RATE_MARKET, end)?.price ?? 0
    const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
    samples.push({ symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' })
  }
  return samples
}

function open(samples: readonly Sample[], refused: readonly string[] = []) {
  const clock = createManualClock(NOW)
  const asked: string[] = []
  const rest = {
    fetchCandles: async ({ exchange, market, count, last = minuteOf(NOW) + 1 }: CandleRequest) => {
      asked.push(market)
      if (refused.includes(market)) throw new Error('refused')
      const opens = Array.from({ length: count }, (_, offset) => last - count + offset)
      const candles = opens.flatMap((opened): MinuteCandle[] => {
        const candle = prices.candle(exchange, market, minuteStart(opened))
        return candle === undefined ? [] : [[opened + 1, candle.close, candle.volume]]
      })
      return { candles }
    },
  }
  const blocks = new CandleBlockCache(rest, { clock, log: createMemoryLog() })
  const readSamples = async (symbol: string, from: number, to: number) => ({
    entries: samples.filter(
      sample => sample.symbol === symbol && sample.minute >= from && sample.minute < to,
    ),
    newestMinute: 0,
    corrupt: 0,
  })
  const read: string[] = []
  const reader = {
    readSamples: (symbol: string, from: number, to: number) => {
      read.push(symbol)
      return readSamples(symbol, from, to)
    },
  }
  const measure = (coins: readonly Coin[], now = NOW) => measureDrift(coins, now, reader, blocks)
  return { asked, read, measure }
}

const compare = (samples: readonly Sample[]) => open(samples).measure([BTC, ETH])

t.test('live samples that saw every trade do not drift at all', async t => {
  t.match(await compare([...liveSamples(BTC), ...liveSamples(ETH)]), {
    compared: 20,
    medianE4: 0,
    worst: { e4: 0 },
  })
})

t.test('a wrong live sample is the worst one, by coin and minute', async t => {
  const samples = liveSamples(ETH).map(sample =>
    sample.minute === range.start + 7 ? { ...sample, premiumE4: sample.premiumE4 - 5_000 } : sample,
  )
  t.match(await compare(samples), {
    compared: 10,
    medianE4: 0,
    worst: { symbol: 'ETH', minute: range.start + 7, e4: 5_000 },
  })
})

t.test('only live samples are compared', async t => {
  const candles = liveSamples(BTC).map(sample => ({ ...sample, source: 'candle' }) as const)
  t.equal(await compare(candles), undefined)
})

t.test('a few coins, each hour the next ones, so that 195 coins cost no more than ten', async t => {
  const coins = Array.from({ length: 195 }, (_, at) => ({ ...ETH, symbol: `C${at}`, upbit: `KRW-C${at}` }))
  const { measure, read, asked } = open([])
  for (let hour = 0; hour < 49; hour++) await measure(coins, NOW + hour * HOUR_MS)
  t.equal(read.length, 195)
  t.equal(new Set(read).size, 195, 'all of them in two days')
  t.notOk(asked.includes('KRW-C0'), 'no candle of a coin is asked for where it has no live sample')
})

t.test('a coin whose candles are refused is left out, the others are compared', async t => {
  const { measure } = open([...liveSamples(BTC), ...liveSamples(KNC)], [KNC.upbit])
  t.match(await measure([KNC, BTC]), { compared: 10 })
})
