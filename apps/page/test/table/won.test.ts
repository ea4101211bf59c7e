import t from 'tap'
import { wonOf } from '../../src/table/won.ts'

const of = (upbit_krw: number, binance_usdt: number, usdt_krw = 1_400) =>
  wonOf({ symbol: 'A', name: 'A', premium_pct: 0, upbit_krw, binance_usdt, usdt_krw, snapshot_at: '' })

t.test(
  'a gap has three digits that count, and so many decimals has the price that it comes from',
  async t => {
    t.match(of(191, 0.135236), { binance: 189.33, gap: 1.67, decimals: 2 })
    t.match(of(143_500_000, 101_250.5), { binance: 141_750_700, gap: 1_749_300, decimals: 0 })
    t.match(of(245.3, 0.17171), { binance: 240.39, gap: 4.91, decimals: 2 })
  },
)

t.test('a gap near zero adds no digits that say nothing', async t => {
  t.match(of(140, 0.1), { binance: 140, gap: 0, decimals: 3 })
  t.match(of(107_168_000, 76_548.5714), { binance: 107_168_000, gap: 0, decimals: 0 })
})

t.test('no digit of Upbit’s price is lost', async t => {
  t.match(of(0.012345678, 0.0000088), { binance: 0.01232, gap: 0.000025678, decimals: 9 })
})

/** Recorded prices of one moment in August 2026 in a few orders of magnitude, rounded. */
const PRICES = [
  [191, 0.13614],
  [1_896, 1.3738],
  [0.01234, 0.00000884],
  [67.8, 0.0491],
  [107_168_000, 77_772],
  [116, 0.08387],
] as const

t.test('won on Upbit minus won on Binance is the gap, to the last digit', async t => {
  for (const [upbit, usdt] of PRICES) {
    const { krw, binance, gap, decimals } = of(upbit, usdt, 1_391)
    t.equal((krw - binance).toFixed(decimals), gap.toFixed(decimals), `${krw} − ${binance}`)
  }
})
