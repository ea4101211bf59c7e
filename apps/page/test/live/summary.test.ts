import t from 'tap'
import { summarise } from '../../src/live/summary.ts'

const coin = (symbol: string, premium_pct: number) => ({
  symbol,
  name: symbol,
  premium_pct,
  upbit_krw: 100_000_000,
  binance_usdt: 1,
  usdt_krw: 1400,
  snapshot_at: '2026-11-21T13:05:00',
})

t.test('the middle of an odd number of coins, the mean of the two middle ones of an even number', async t => {
  const odd = [coin('A', 3), coin('B', -1), coin('C', 2)]
  t.match(summarise(odd), { median: 2, highest: { symbol: 'A' }, lowest: { symbol: 'B' } })
  t.match(summarise([...odd, coin('D', 5)]), { median: 2.5, highest: { symbol: 'D' } })
  t.match(summarise([coin('A', 1)]), { median: 1, highest: undefined, lowest: undefined })
})

t.test('no coin is an extreme that one price step may put on the median', async t => {
  const coarse = { ...coin('DOGE', 1.9), upbit_krw: 116 }
  const coins = [coarse, coin('A', 1), coin('B', 0.9), coin('C', 1.1), coin('D', 1.05)]
  t.match(summarise(coins), { median: 1.05, highest: undefined, lowest: { symbol: 'B' } })
  t.match(summarise([...coins, coin('E', 1.5)]), { highest: { symbol: 'E' } })
  t.match(summarise([{ ...coarse, premium_pct: 2.1 }, ...coins.slice(1)]), { highest: { symbol: 'DOGE' } })
})

t.test('an empty list has no summary', async t => {
  t.equal(summarise([]), undefined)
})
