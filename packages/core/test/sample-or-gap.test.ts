import fc from 'fast-check'
import t from 'tap'
import { type Leg, type MinuteLegs, premiumE4, sampleOrGap } from '../src/index.ts'
import { at, M } from './ticks.ts'

const WHOLE_LEGS = {
  upbitUp: true,
  binanceUp: true,
  upbit: { price: 99_000_000, tradedAt: at(-3), tradable: true },
  binance: { price: 70_000, tradedAt: at(-1), tradable: true },
  rate: { price: 1_400, tradedAt: at(-20), tradable: true },
} satisfies MinuteLegs

t.test('the decision is the same for candles, and keeps their source', async t => {
  t.match(sampleOrGap('BTC', M, 'candle', WHOLE_LEGS), { source: 'candle', premiumE4: 10_204, minute: M })
})

t.test('an impossible price or premium is a gap', async t => {
  const leg = (price: number): Leg => ({ price, tradedAt: at(-1), tradable: true })
  const broken: Partial<MinuteLegs>[] = [
    { upbit: leg(0) },
    { binance: leg(Number.NaN) },
    { rate: leg(-1_400) },
    { rate: leg(1e308) },
    { binance: leg(1e-9) },
    { binance: leg(5e-324), rate: leg(5e-324) },
  ]
  for (const legs of broken) {
    t.equal(sampleOrGap('BTC', M, 'live', { ...WHOLE_LEGS, ...legs }), 'impossible', JSON.stringify(legs))
  }
  const highest = { ...WHOLE_LEGS, allowed: true, upbit: leg(10_001), binance: leg(1), rate: leg(1) }
  t.match(sampleOrGap('BTC', M, 'live', highest), { premiumE4: 1e10 }, 'a million percent')
  t.equal(sampleOrGap('BTC', M, 'live', { ...highest, upbit: leg(10_001.000001) }), 'impossible')
})

// docs/faults.md, 20 and 89
t.test('below -75 % or above +300 % only an allowed pair has a sample, live and from candles', async t => {
  const leg = (price: number): Leg => ({ price, tradedAt: at(-1), tradable: true })
  const decide = (upbitKrw: number, allowed: boolean, source: 'live' | 'candle') => {
    const legs = { ...WHOLE_LEGS, allowed, upbit: leg(upbitKrw), binance: leg(1_000), rate: leg(1_000) }
    const decision = sampleOrGap('BTC', M, source, legs)
    return typeof decision === 'string' ? decision : decision.premiumE4
  }
  for (const source of ['live', 'candle'] as const) {
    t.strictSame(
      [249_999, 250_000, 450_000, 2_250_000, 4_000_000, 4_000_001].map(krw => decide(krw, false, source)),
      ['implausible', -750_000, -550_000, 1_250_000, 3_000_000, 'implausible'],
    )
    t.strictSame(
      [1_000, 249_999, 4_000_001, 1_000_000_000].map(krw => decide(krw, true, source)),
      [-999_000, -750_001, 3_000_001, 999_000_000],
    )
  }
})

// docs/faults.md, 15
t.test('each leg is carried for 60 minutes after its last known trade and no longer', async t => {
  for (const [name, reason] of [
    ['upbit', 'no-upbit-price'],
    ['binance', 'no-binance-price'],
    ['rate', 'no-rate'],
  ] as const) {
    const withTrade = (tradedAt: number | undefined) =>
      sampleOrGap('BTC', M, 'candle', { ...WHOLE_LEGS, [name]: { ...WHOLE_LEGS[name], tradedAt } })
    t.match(withTrade(at(-3_600)), { premiumE4: 10_204 }, name)
    t.equal(withTrade(at(-3_600.001)), reason)
    t.equal(withTrade(undefined), reason, 'no known trade')
    t.equal(sampleOrGap('BTC', M, 'live', { ...WHOLE_LEGS, [name]: undefined }), reason, 'unknown')
  }
})

t.test('never a sample without both exchanges up and three fresh, tradable, real prices', async () => {
  const mostly = fc.integer({ min: 0, max: 9 }).map(drawn => drawn > 0)
  const price = fc.oneof(fc.double(), fc.constant(undefined), {
    arbitrary: fc.double({ min: 1e-2, max: 1e4, noNaN: true }),
    weight: 12,
  })
  const traded = fc.integer({ min: at(-7_200), max: at(0) - 1 })
  const tradedAt = fc.oneof(fc.constant(undefined), { arbitrary: traded, weight: 12 })
  const leg: fc.Arbitrary<Leg> = fc.record({ price, tradedAt, tradable: mostly })
  const legs = fc.record({ upbitUp: mostly, binanceUp: mostly, upbit: leg, binance: leg, rate: leg })
  const isGood = ({ price: found = 0, tradedAt: last = 0, tradable }: Leg) =>
    tradable && found > 0 && at(0) - last <= 3_600_000
  fc.assert(
    fc.property(legs, given => {
      const outcome = sampleOrGap('BTC', M, 'live', given)
      if (typeof outcome === 'string') return true
      return (
        given.upbitUp &&
        given.binanceUp &&
        [given.upbit, given.binance, given.rate].every(isGood) &&
        outcome.premiumE4 === premiumE4(outcome.upbitKrw, outcome.binanceUsdt, outcome.usdtKrw) &&
        outcome.premiumE4 >= -750_000 &&
        outcome.premiumE4 <= 3_000_000
      )
    }),
    { numRuns: 2_000 },
  )
})
