import type { MinuteCandle } from '@kimchi/feeds'
import t from 'tap'
import { CandleBlock } from '../../src/backfill/candle-blocks.ts'
import { candleSampleOrGap } from '../../src/backfill/decide-minutes.ts'

const M = 29_000_000

type Candle = [offset: number, close: number, volume?: number]

/** Candles at minutes relative to M: [offset, close, volume]; asked for ten minutes later. */
function block(...candles: Candle[]) {
  return askedAt(M + 10, ...candles)
}

function askedAt(minute: number, ...candles: Candle[]) {
  return new CandleBlock(
    candles.map(([offset, close, volume = 1]): MinuteCandle => [M + offset, close, volume]),
    minute,
  )
}

const legs = {
  upbit: block([-1, 141_400_000]),
  binance: block([-1, 100_000]),
  rate: block([-1, 1_400]),
  upbitReference: block([-1, 141_400_000]),
  binanceReference: block([-1, 100_000]),
}

t.test('takes the closes of the candles that open a minute before M, and no later ones', async t => {
  const later = {
    ...legs,
    upbit: block([-2, 1], [-1, 141_400_000], [0, 2]),
    binance: block([-1, 100_000], [0, 3]),
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
  t.match(candleSampleOrGap('BTC', M, { ...legs, upbit: block([-60, 141_400_000]) }), {
    upbitKrw: 141_400_000,
  })
  t.equal(candleSampleOrGap('BTC', M, { ...legs, upbit: block([-61, 141_400_000]) }), 'no-upbit-price')
  t.equal(candleSampleOrGap('BTC', M, { ...legs, rate: block([-61, 1_400]) }), 'no-rate')
})

t.test('an exchange without any trade in the minute was down: a gap, whatever could be carried', async t => {
  const silentUpbit = {
    upbit: block([-2, 141_400_000]),
    rate: block([-2, 1_400]),
    upbitReference: block([-2, 1]),
  }
  t.equal(candleSampleOrGap('BTC', M, { ...legs, ...silentUpbit }), 'upbit-down')
  const flat = { binance: block([-1, 100_000, 0]), binanceReference: block([-1, 100_000, 0]) }
  t.equal(candleSampleOrGap('BTC', M, { ...legs, ...flat }), 'binance-down')
})

t.test('an idle Binance minute of one coin is a sample while another market trades', async t => {
  t.match(candleSampleOrGap('BTC', M, { ...legs, binance: block([-5, 100_000], [-1, 100_000, 0]) }), {
    binanceUsdt: 100_000,
  })
})

t.test(
  'both legs are carried for sixty minutes since their last trade, whatever kind of silence it is',
  async t => {
    const idle = (since: number) =>
      block(
        [since, 100_000],
        ...Array.from({ length: -since - 1 }, (_, at): Candle => [since + 1 + at, 1, 0]),
      )
    for (const [since, outcome] of [
      [-60, { binanceUsdt: 100_000 }],
      [-61, 'no-binance-price'],
    ] as const) {
      const without = candleSampleOrGap('BTC', M, { ...legs, binance: block([since, 100_000]) })
      t.match(without, outcome, 'no klines at all')
      t.match(
        candleSampleOrGap('BTC', M, { ...legs, binance: idle(since) }),
        outcome,
        'klines without volume',
      )
    }
  },
)

t.test(
  '58. an absent candle counts where a later one is there, or when it was fetched three minutes later',
  async t => {
    for (const leg of ['upbit', 'binance', 'rate'] as const) {
      const before: Candle = [-2, 1_400]
      const asked = (minute: number, ...candles: Candle[]) =>
        candleSampleOrGap('BTC', M, { ...legs, [leg]: askedAt(minute, before, ...candles) })
      t.equal(asked(M), 'open', leg)
      t.equal(asked(M + 2), 'open', leg)
      t.match(asked(M + 3), { symbol: 'BTC' }, leg)
      t.match(asked(M + 1, [0, 1_400]), { symbol: 'BTC' }, leg)
    }
  },
)
