import fc from 'fast-check'
import t from 'tap'
import {
  createLatestTicks,
  type GapReason,
  type LatestTicks,
  type Leg,
  type MinuteLegs,
  premiumE4,
  sampleOrGap,
  type Tick,
  takeSnapshot,
} from '../src/index.ts'
import { at, BTC, binanceTick, ETH, M, seed, upbitTick } from './ticks.ts'

const UPBIT_BTC = upbitTick('KRW-BTC', 99_000_000, at(-3))
const RATE = upbitTick('KRW-USDT', 1_400, at(-20))
const BINANCE_BTC = binanceTick('BTCUSDT', 70_000, at(-0.5))
const WHOLE = [UPBIT_BTC, RATE, BINANCE_BTC]

function record(...ticks: readonly Tick[]): LatestTicks {
  const latest = createLatestTicks()
  for (const tick of ticks) latest.record(tick)
  return latest
}

/** What becomes of each coin: its sample's three prices, or the reason of its gap. */
function outcomes(latest: LatestTicks, minute = M, coins = [BTC]): (readonly number[] | GapReason)[] {
  const { samples, gaps } = takeSnapshot(latest, minute, coins)
  return coins.map(({ symbol }) => {
    const sample = samples.find(candidate => candidate.symbol === symbol)
    const gap = gaps.find(candidate => candidate.symbol === symbol)
    return sample ? [sample.upbitKrw, sample.binanceUsdt, sample.usdtKrw] : (gap?.reason ?? [])
  })
}

t.test('takes every coin at one minute: a sample or a gap, in the order of the coins', async t => {
  t.strictSame(takeSnapshot(record(...WHOLE), M, [ETH, BTC]), {
    minute: M,
    samples: [
      {
        symbol: 'BTC',
        minute: M,
        upbitKrw: 99_000_000,
        binanceUsdt: 70_000,
        usdtKrw: 1_400,
        premiumE4: 10_204,
        source: 'live',
      },
    ],
    gaps: [{ symbol: 'ETH', minute: M, reason: 'no-upbit-price' }],
  })
  t.strictSame(takeSnapshot(record(...WHOLE), M, []), { minute: M, samples: [], gaps: [] })
})

t.test(
  'each leg is the last price before M, also when frames of the next minute are there already',
  async t => {
    const latest = record(
      ...WHOLE,
      upbitTick('KRW-BTC', 1, at(0)),
      upbitTick('KRW-USDT', 1, at(0.1)),
      binanceTick('BTCUSDT', 1, at(0.5)),
    )
    latest.record(upbitTick('KRW-BTC', 99_100_000, at(-0.001), { receivedAt: at(0.9) }))
    t.strictSame(outcomes(latest), [[99_100_000, 70_000, 1_400]])
    t.strictSame(outcomes(latest, M + 1), [[1, 1, 1]])
  },
)

t.test(
  'carries a quiet coin while its exchange is up, for at most 60 minutes since its last trade',
  async t => {
    const quiet = (seconds: number) =>
      record(...WHOLE, upbitTick('KRW-ETH', 5_000_000, at(seconds)), binanceTick('ETHUSDT', 3_500, at(-1)))
    t.strictSame(outcomes(quiet(-600), M, [ETH]), [[5_000_000, 3_500, 1_400]])
    t.strictSame(outcomes(quiet(-3_600), M, [ETH]), [[5_000_000, 3_500, 1_400]])
    t.strictSame(outcomes(quiet(-3_600.001), M, [ETH]), ['no-upbit-price'])
  },
)

t.test('carries a quiet coin on Binance for as long as Binance is up', async t => {
  const latest = record(...WHOLE, upbitTick('KRW-ETH', 5_000_000, at(-9)), seed('ETHUSDT', 3_500, at(-9_000)))
  t.strictSame(outcomes(latest, M, [ETH]), [[5_000_000, 3_500, 1_400]])
})

t.test('the rate is carried like a coin and no longer', async t => {
  const latest = (seconds: number) =>
    record(UPBIT_BTC, upbitTick('KRW-USDT', 1_400, at(seconds)), BINANCE_BTC)
  t.strictSame(outcomes(latest(-3_600)), [[99_000_000, 70_000, 1_400]])
  t.strictSame(outcomes(latest(-3_601)), ['no-rate'])
})

t.test('one exchange silent: a gap for every coin, never a premium of mixed age', async t => {
  const silentUpbit = [UPBIT_BTC, RATE].map(tick => ({
    ...tick,
    eventAt: tick.eventAt - 60_000,
    tradedAt: tick.eventAt - 60_000,
    receivedAt: tick.receivedAt - 60_000,
  }))
  t.strictSame(outcomes(record(...silentUpbit, BINANCE_BTC), M, [BTC, ETH]), ['upbit-down', 'upbit-down'])
  const unchanged = binanceTick('BTCUSDT', 70_000, at(-0.5), { tradedAt: undefined })
  t.strictSame(outcomes(record(UPBIT_BTC, RATE, unchanged)), ['binance-down'])
  t.strictSame(outcomes(record(UPBIT_BTC, RATE)), ['binance-down'])
  t.strictSame(outcomes(createLatestTicks()), ['upbit-down'])
})

t.test('KRW-USDT missing: no sample', async t => {
  t.strictSame(outcomes(record(UPBIT_BTC, BINANCE_BTC)), ['no-rate'])
})

t.test('KRW-USDT halted: no sample', async t => {
  t.strictSame(outcomes(record(UPBIT_BTC, { ...RATE, tradable: false }, BINANCE_BTC)), ['no-rate'])
})

t.test('an Upbit snapshot sets prices and proves no life', async t => {
  const snapshot = { origin: 'snapshot', tradedAt: undefined } as const
  const latest = record({ ...UPBIT_BTC, ...snapshot }, { ...RATE, ...snapshot }, BINANCE_BTC)
  t.strictSame(outcomes(latest), ['upbit-down'])
  latest.record(upbitTick('KRW-ETH', 1, at(-1)))
  t.strictSame(outcomes(latest), [[99_000_000, 70_000, 1_400]])
})

t.test('a coin one exchange never named is a gap of its own', async t => {
  t.strictSame(outcomes(record(RATE, BINANCE_BTC)), ['no-upbit-price'])
  const latest = record(...WHOLE, upbitTick('KRW-ETH', 5_000_000, at(-9)))
  t.strictSame(outcomes(latest, M, [BTC, ETH]), [[99_000_000, 70_000, 1_400], 'no-binance-price'])
})

t.test('a lost feed is a gap until its prices are received again', async t => {
  const latest = record(...WHOLE)
  latest.lost('upbit', at(-2))
  t.strictSame(outcomes(latest), ['no-rate'])
  latest.record(upbitTick('KRW-USDT', 1_400, at(-20), { receivedAt: at(-1), origin: 'snapshot' }))
  t.strictSame(outcomes(latest), ['no-upbit-price'])
  latest.record(upbitTick('KRW-BTC', 99_000_000, at(-3), { receivedAt: at(-1), origin: 'snapshot' }))
  t.strictSame(outcomes(latest), [[99_000_000, 70_000, 1_400]])
  latest.lost('binance', at(-0.2))
  t.strictSame(outcomes(latest), ['no-binance-price'])
})

t.test('a market halted on either exchange is a gap, others are untouched', async t => {
  const eth = [upbitTick('KRW-ETH', 5_000_000, at(-9)), binanceTick('ETHUSDT', 3_500, at(-1))]
  t.strictSame(
    outcomes(record(...WHOLE, ...eth, upbitTick('KRW-ETH', 1, at(-8), { tradable: false })), M, [BTC, ETH]),
    [[99_000_000, 70_000, 1_400], 'halted'],
  )
  t.strictSame(
    outcomes(record(...WHOLE, ...eth, binanceTick('ETHUSDT', 1, at(-0.5), { tradable: false })), M, [ETH]),
    ['halted'],
  )
})

t.test('a wrong clock writes nothing, whichever exchange shows it', async t => {
  for (const [index, lag] of [
    [0, 2_500],
    [2, 2_500],
    [2, -2_500],
  ] as const) {
    const ticks = WHOLE.map(tick => ({ ...tick, receivedAt: tick.eventAt }))
    const odd = ticks[index]
    const latest = record(...ticks)
    for (let copy = 0; odd && copy < 5; copy++) {
      latest.record({ ...odd, eventAt: at(-30), receivedAt: at(-30) + lag })
    }
    t.strictSame(outcomes(latest, M, [BTC, ETH]), ['clock-skew', 'clock-skew'])
  }
})

const WHOLE_LEGS: MinuteLegs = {
  upbitUp: true,
  binanceUp: true,
  upbit: { price: 99_000_000, tradedAt: at(-3), tradable: true },
  binance: { price: 70_000, tradable: true },
  rate: { price: 1_400, tradable: true },
}

t.test('decides alike for candles, whose source it keeps', async t => {
  t.match(sampleOrGap('BTC', M, 'candle', WHOLE_LEGS), { source: 'candle', premiumE4: 10_204, minute: M })
})

t.test('an impossible price or premium is a gap', async t => {
  const tradable = true
  const broken: Partial<MinuteLegs>[] = [
    { upbit: { price: 0, tradable } },
    { binance: { price: Number.NaN, tradable } },
    { rate: { price: -1_400, tradable } },
    { rate: { price: 1e308, tradable } },
    { binance: { price: 1e-9, tradable } },
    { binance: { price: 5e-324, tradable }, rate: { price: 5e-324, tradable } },
  ]
  for (const legs of broken) {
    t.equal(sampleOrGap('BTC', M, 'live', { ...WHOLE_LEGS, ...legs }), 'implausible', JSON.stringify(legs))
  }
})

t.test('never a sample without both exchanges up and three fresh, tradable, real prices', async () => {
  const mostly = fc.integer({ min: 0, max: 9 }).map(drawn => drawn > 0)
  const leg: fc.Arbitrary<Leg | undefined> = fc.option(
    fc.record({
      price: fc.oneof(fc.double(), { arbitrary: fc.double({ min: 1e-2, max: 1e4, noNaN: true }), weight: 8 }),
      tradedAt: fc.integer({ min: at(-7_200), max: at(0) - 1 }),
      tradable: mostly,
    }),
    { nil: undefined, freq: 10 },
  )
  const legs = fc.record({
    upbitUp: mostly,
    binanceUp: mostly,
    upbit: leg,
    binance: leg,
    rate: leg,
  })
  const isGood = (found: Leg | undefined, maxAge: number) =>
    found?.tradable === true && found.price > 0 && at(0) - (found.tradedAt ?? 0) <= maxAge
  fc.assert(
    fc.property(legs, given => {
      const { upbitUp, binanceUp, upbit, binance, rate } = given
      const outcome = sampleOrGap('BTC', M, 'live', {
        ...given,
        binance: binance && { ...binance, tradedAt: at(-1) },
      })
      if (typeof outcome === 'string') return true
      return (
        upbitUp &&
        binanceUp &&
        isGood(upbit, 3_600_000) &&
        isGood(rate, 3_600_000) &&
        isGood(binance, 7_200_000) &&
        outcome.premiumE4 === premiumE4(outcome.upbitKrw, outcome.binanceUsdt, outcome.usdtKrw) &&
        Math.abs(outcome.premiumE4) <= 1e10
      )
    }),
    { numRuns: 2_000 },
  )
})
