import t from 'tap'
import { candleSampleOrGap } from '../../src/backfill/candle-samples.ts'
import { createCandleSeries } from '../../src/backfill/candle-series.ts'

const M = 29_000_000

/** Candles at minutes relative to M: [offset, close, volume]. */
function series(...candles: [offset: number, close: number, volume?: number][]) {
  return createCandleSeries(candles.map(([offset, close, volume = 1]) => [M + offset, close, volume]))
}

const legs = {
  upbit: series([-1, 141_400_000]),
  binance: series([-1, 100_000]),
  rate: series([-1, 1_400]),
  upbitReference: series([-1, 141_400_000]),
  binanceReference: series([-1, 100_000]),
}

t.test('takes the closes of the candles that open a minute before M, and no later ones', async t => {
  const later = {
    ...legs,
    upbit: series([-2, 1], [-1, 141_400_000], [0, 2]),
    binance: series([-1, 100_000], [0, 3]),
  }
  t.strictSame(candleSampleOrGap('BTC', M, later), {
    symbol: 'BTC',
    minute: M,
    upbitKrw: 141_400_000,
    binanceUsdt: 100_000,
    usdtKrw: 1_400,
    premiumE4: 10_000,
    source: 'candle',
  })
})

t.test('carries an Upbit close over minutes without trades for sixty minutes, not longer', async t => {
  t.match(candleSampleOrGap('BTC', M, { ...legs, upbit: series([-60, 141_400_000]) }), {
    upbitKrw: 141_400_000,
  })
  t.equal(candleSampleOrGap('BTC', M, { ...legs, upbit: series([-61, 141_400_000]) }), 'no-upbit-price')
  t.equal(candleSampleOrGap('BTC', M, { ...legs, rate: series([-61, 1_400]) }), 'no-rate')
})

t.test('an exchange without any trade in the minute was down: a gap, whatever could be carried', async t => {
  const silentUpbit = {
    upbit: series([-2, 141_400_000]),
    rate: series([-2, 1_400]),
    upbitReference: series([-2, 1]),
  }
  t.equal(candleSampleOrGap('BTC', M, { ...legs, ...silentUpbit }), 'upbit-down')
  const flat = { binance: series([-1, 100_000, 0]), binanceReference: series([-1, 100_000, 0]) }
  t.equal(candleSampleOrGap('BTC', M, { ...legs, ...flat }), 'binance-down')
})

t.test('an idle Binance minute of one coin is a sample while another market trades', async t => {
  t.match(candleSampleOrGap('BTC', M, { ...legs, binance: series([-5, 100_000], [-1, 100_000, 0]) }), {
    binanceUsdt: 100_000,
  })
})

t.test(
  'both legs are carried for sixty minutes since their last trade, whatever kind of silence it is',
  async t => {
    const idle = (since: number) =>
      series(
        [since, 100_000],
        ...Array.from({ length: -since - 1 }, (_, at) => [since + 1 + at, 1, 0] as [number, number, number]),
      )
    for (const [since, outcome] of [
      [-60, { binanceUsdt: 100_000 }],
      [-61, 'no-binance-price'],
    ] as const) {
      t.match(
        candleSampleOrGap('BTC', M, { ...legs, binance: series([since, 100_000]) }),
        outcome,
        'no klines at all',
      )
      t.match(
        candleSampleOrGap('BTC', M, { ...legs, binance: idle(since) }),
        outcome,
        'klines without volume',
      )
    }
  },
)
