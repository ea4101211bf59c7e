import fc from 'fast-check'
import t from 'tap'
import { ALIASES, DENIALS, LEFT_OUT, MULTIPLIERS, perCoinPrice } from '../../src/catalogue/pairs.ts'

t.test('each ticker is in one part of the table only, and each line has a reason', async t => {
  const tickers = [ALIASES, DENIALS, LEFT_OUT, MULTIPLIERS].flatMap(part => Object.keys(part))
  t.equal(new Set(tickers).size, tickers.length)
  for (const line of [...Object.values(ALIASES), ...Object.values(MULTIPLIERS)]) t.ok(line.reason.length > 5)
  for (const reason of [...Object.values(DENIALS), ...Object.values(LEFT_OUT)]) t.ok(reason.length > 3)
})

t.test('an ordinary price stays as it is', async t => {
  t.equal(perCoinPrice('BTCUSDT', 64_117.99), 64_117.99)
})

t.test(
  'a price for many coins becomes that of one by moving the point, never by a rounded division',
  async t => {
    t.equal(perCoinPrice('1000SATSUSDT', 0.0000162), 1.62e-8)
    t.equal(perCoinPrice('1000CHEEMSUSDT', 0.001099), 0.000001099)
    t.equal(perCoinPrice('1MBABYDOGEUSDT', 0.0012345), 1.2345e-9)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 0, max: 8 }), (digits, places) => {
        return (
          perCoinPrice('1000SATSUSDT', Number(`${digits}e-${places}`)) === Number(`${digits}e-${places + 3}`)
        )
      }),
    )
  },
)
