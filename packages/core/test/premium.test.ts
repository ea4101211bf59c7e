import fc from 'fast-check'
import t from 'tap'
import { isPrice, percentOf, premiumE4 } from '../src/premium.ts'

/** A price as decimal text, as a caller of the API reads it. */
const decimalPrice = fc
  .tuple(fc.bigInt({ min: 1n, max: 999_999_999_999n }), fc.integer({ min: 0, max: 12 }))
  .map(([digits, places]) => {
    const padded = digits.toString().padStart(places + 1, '0')
    return `${padded.slice(0, padded.length - places)}.${padded.slice(padded.length - places)}0`
  })

t.test('the premium of ordinary prices is that of the formula', async t => {
  t.equal(premiumE4(98_000_000, 70_000, 1_400), 0)
  t.equal(premiumE4(99_000_000, 70_000, 1_400), 10_204, '1.0204081… %')
  t.equal(premiumE4(97_000_000, 70_000, 1_400), -10_204)
  t.equal(premiumE4(5.673e-5, 4.1e-8, 1_408), -17_288, 'prices printed with exponents')
  t.equal(premiumE4(1, 1e12, 1e12), -1_000_000)
  t.equal(premiumE4(1e12, 1e-7, 1e-7), 1e32 - 1_000_000)
})

t.test('the premium is never minus zero', async t => {
  t.ok(Object.is(premiumE4(999.99999999, 1, 1000), 0))
  t.ok(Object.is(premiumE4(1000, 1, 1000), 0))
})

t.test('the premium agrees with a long division on decimal text', async () => {
  fc.assert(
    fc.property(decimalPrice, decimalPrice, decimalPrice, (krw, usdt, rate) => {
      const expected = longDivisionPremium(krw, usdt, rate)
      return BigInt(premiumE4(Number(krw), Number(usdt), Number(rate))) === BigInt(Number(expected))
    }),
    { numRuns: 2_000 },
  )
})

t.test('the premium agrees with the long division on exact ties and one unit beside them', async () => {
  const tie = fc.tuple(fc.integer({ min: -900_000, max: 900_000 }), fc.integer({ min: -1, max: 1 }))
  fc.assert(
    fc.property(tie, ([premium, nudge]) => {
      // 1 USDT at 1000 KRW: half a unit of 1/10,000 percent is 0.0005 KRW.
      const krw = fixed(BigInt(1_000_000_000 + premium * 1_000 + 500 + nudge), 6)
      return premiumE4(Number(krw), 1, 1_000) === Number(longDivisionPremium(krw, '1', '1000'))
    }),
    { numRuns: 2_000 },
  )
})

t.test('a price is a finite number above 0 and at most 1e12', async t => {
  for (const price of [0, -0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12 + 1, 1e308])
    t.equal(isPrice(price), false)
  for (const value of ['1', null, undefined, {}, 1n]) t.equal(isPrice(value), false)
  t.equal(isPrice(1e12), true)
  t.equal(isPrice(1e-9), true)
})

t.test('a premium in percent prints with at most four decimals', async t => {
  t.equal(percentOf(12_345), 1.2345)
  t.equal(percentOf(-1), -0.0001)
  fc.assert(
    fc.property(fc.integer({ min: -1e10, max: 1e10 }), premium =>
      /^-?\d+(\.\d{1,4})?$/.test(JSON.stringify(percentOf(premium))),
    ),
  )
})

/** (krw / (usdt × rate) − 1) × 1,000,000 digit by digit, rounded half away from zero. */
function longDivisionPremium(krw: string, usdt: string, rate: string): string {
  const scale = 13 // more places than any generated price has
  const numerator = unscaled(krw, scale) * 10n ** BigInt(scale)
  const denominator = unscaled(usdt, scale) * unscaled(rate, scale)
  let remainder = numerator % denominator
  let digits = (numerator / denominator).toString()
  for (let place = 0; place < 6; place++) {
    remainder *= 10n
    digits += (remainder / denominator).toString()
    remainder %= denominator
  }
  const floor = BigInt(digits) - 1_000_000n
  const twice = remainder * 2n
  const roundsUp = twice > denominator || (twice === denominator && floor >= 0n)
  return (roundsUp ? floor + 1n : floor).toString()
}

function unscaled(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

function fixed(digits: bigint, places: number): string {
  const text = digits.toString().padStart(places + 1, '0')
  return `${text.slice(0, -places)}.${text.slice(-places)}`
}
