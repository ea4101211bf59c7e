import t from 'tap'
import { krwTickSize, roundToStep, usdtTickSize } from '../../src/market/tick-size.ts'

t.test('KRW price steps follow the table', async t => {
  for (const [price, step] of [
    [107_895_000, 1_000],
    [1_000_000, 1_000],
    [999_999, 500],
    [499_999, 100],
    [99_999, 50],
    [49_999, 10],
    [9_999, 5],
    [4_999, 1],
    [100, 1],
    [99.9, 0.1],
    [9.99, 0.01],
    [0.999, 0.001],
    [0.0123, 0.0001],
    [0.000601, 0.000001],
    [0.0000001, 0.00000001],
  ] as const) {
    t.equal(krwTickSize(price), step, String(price))
  }
})

t.test('USDT price steps leave about five digits', async t => {
  t.strictSame([86_000, 130, 2.1, 0.148].map(usdtTickSize), [0.01, 0.01, 0.0001, 0.00001])
})

t.test('a rounded price is the double nearest to its decimal and never zero', async t => {
  t.equal(roundToStep(0.28449999, 0.0001), 0.2845)
  t.equal(roundToStep(1_234.56, 5), 1_235)
  t.equal(roundToStep(1e-12, 1e-8), 1e-8)
})
