import { minuteStart, premiumE4, RATE_MARKET, type Sample } from '@kimchi/core'
import { startSimulator } from '@kimchi/simulator'
import t from 'tap'
import { reconcile } from '../../src/backfill/reconcile.ts'
import { BTC, ETH, YESTERDAY } from '../support/backfill-bench.ts'

const simulator = await startSimulator({ pumpMs: 0 })
t.teardown(() => simulator.close())
const { prices } = simulator
const range = { start: YESTERDAY + 100, end: YESTERDAY + 220 }

const fetchCandles: Parameters<typeof reconcile>[0]['fetchCandles'] = async (exchange, market, part) =>
  Array.from({ length: part.end - part.start }, (_, offset) => part.start + offset).flatMap(open => {
    const candle = prices.candle(exchange, market, minuteStart(open))
    return candle === undefined ? [] : [[open, candle.close, candle.volume] as const]
  })

/** Samples as the feeds take them; Binance's ticker tells of trades until `lagMs` before the minute. */
function liveSamples({ symbol, upbit, binance }: typeof BTC, lagMs: number): Sample[] {
  const samples: Sample[] = []
  for (let minute = range.start; minute < range.end; minute++) {
    const end = minuteStart(minute)
    const upbitKrw = prices.lastTrade('upbit', upbit, end)?.price ?? 0
    const binanceUsdt = prices.lastTrade('binance', binance, end - lagMs)?.price ?? 0
    const usdtKrw = prices.lastTrade('upbit', RATE_MARKET, end)?.price ?? 0
    const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
    samples.push({ symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' })
  }
  return samples
}

function compare(samples: readonly Sample[], mayGoOn = true) {
  return reconcile({
    coins: [BTC, ETH],
    range,
    reader: {
      readSamples: async (symbol, from, to) => ({
        entries: samples.filter(
          sample => sample.symbol === symbol && sample.minute >= from && sample.minute < to,
        ),
        corrupt: 0,
      }),
    },
    fetchCandles,
    mayGoOn: async () => mayGoOn,
  })
}

t.test('live samples that saw every trade do not drift at all', async t => {
  const drift = await compare([...liveSamples(BTC, 0), ...liveSamples(ETH, 0)])
  t.match(drift, { compared: 240, medianE4: 0, worst: { e4: 0 } })
})

t.test('the last second that Binance’s ticker misses is all the drift there is', async t => {
  const drift = await compare([...liveSamples(BTC, 1_000), ...liveSamples(ETH, 1_000)])
  t.equal(drift.compared, 240)
  t.ok((drift.worst?.e4 ?? 0) > 0 && (drift.worst?.e4 ?? 0) < 1_000, 'less than 0.1 points at worst')
  t.comment(`median ${drift.medianE4} E4, worst ${drift.worst?.e4} E4`)
})

t.test('a wrong live sample is the worst one, by coin and minute', async t => {
  const samples = liveSamples(ETH, 0).map(sample =>
    sample.minute === range.start + 7 ? { ...sample, premiumE4: sample.premiumE4 - 5_000 } : sample,
  )
  t.match(await compare(samples), {
    compared: 120,
    medianE4: 0,
    worst: { symbol: 'ETH', minute: range.start + 7, e4: 5_000 },
  })
})

t.test('only live samples are compared, and only with minutes that candles know', async t => {
  const candles = liveSamples(BTC, 0).map(sample => ({ ...sample, source: 'candle' }) as const)
  t.match(await compare(candles), { compared: 0, worst: undefined })
  const unlisted = { ...BTC, symbol: 'ETH' }
  const late = liveSamples(unlisted, 0).slice(0, 3)
  const none = reconcile({
    coins: [ETH],
    range,
    reader: { readSamples: async () => ({ entries: late, corrupt: 0 }) },
    fetchCandles: async () => [],
    mayGoOn: async () => true,
  })
  t.match(await none, { compared: 0, worst: undefined })
})

t.test('compares nothing when the lease is somebody else’s', async t => {
  t.match(await compare(liveSamples(BTC, 0), false), { compared: 0 })
})
