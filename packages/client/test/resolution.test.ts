import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { priceStep, resolutionPct } from '../src/index.ts'

/** Prices of 2026 from Upbit, beside the repository; absent in a plain clone. */
const RECORDED = new URL('../../../../shared/recorded/', import.meta.url)
const skip = !existsSync(RECORDED) && 'the recorded exchange data is not beside this repository'

/** Upbit's table: from which price on, and the step. */
const TABLE = [
  [2_000_000, 1_000],
  [1_000_000, 1_000],
  [500_000, 500],
  [100_000, 100],
  [50_000, 50],
  [10_000, 10],
  [5_000, 5],
  [1_000, 1],
  [100, 1],
  [10, 0.1],
  [1, 0.01],
  [0.1, 0.001],
  [0.01, 0.000_1],
  [0.001, 0.000_01],
  [0.000_1, 0.000_001],
  [0.000_01, 0.000_000_1],
  [0.000_000_01, 0.000_000_01],
] as const

t.test('the steps are those of Upbit’s table, from each price to just below the next', async t => {
  for (const [index, [from, step]] of TABLE.entries()) {
    const next = TABLE[index - 1]?.[0] ?? 1e9
    for (const krw of [from, from * 1.9, next * 0.999_999])
      t.equal(priceStep(krw).toPrecision(6), step.toPrecision(6), `${krw} KRW`)
  }
})

t.test('DOGE at 116 won and USDT at 1,391 won make steps of 0.93 points', async t => {
  const row = { symbol: 'DOGE', name: 'Dogecoin', premium_pct: 0, binance_usdt: 0.083_87, snapshot_at: '' }
  t.equal(resolutionPct({ ...row, upbit_krw: 116, usdt_krw: 1_391 }).toFixed(3), '0.934')
})

t.test('every recorded price of 2026 is a multiple of its step', { skip }, async t => {
  const prices = [...coinPrices(), ...triples()]
  t.equal(prices.length, 720 + 2 * 5_370)
  // Most decimal fractions have no exact float: the remainder of 67.8 ÷ 0.1 is not zero.
  const off = prices.filter(krw => Number((krw / priceStep(krw)).toFixed(6)) % 1 !== 0)
  t.strictSame(off, [])
})

/** 120 coins at six moments of August. */
function coinPrices(): number[] {
  const folder = new URL('usdtio/', RECORDED)
  return readdirSync(folder).flatMap(file =>
    JSON.parse(readFileSync(new URL(file, folder), 'utf8')).coins.map(({ krw }: { krw: number }) => krw),
  )
}

/** BTC, ETH, XRP and KRW-USDT from January to August. */
function triples(): number[] {
  const text = readFileSync(new URL('published/bm-triples.2026-01-25_08-23.csv', RECORDED), 'utf8')
  const rows = text.trim().split('\n').slice(1)
  return rows.flatMap(row => [2, 4].map(column => Number(row.split(',')[column])))
}
