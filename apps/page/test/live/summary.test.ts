import t from 'tap'
import { summarise } from '../../src/live/summary.ts'

const coin = (symbol: string, premium_pct: number) => ({
  symbol,
  name: symbol,
  premium_pct,
  upbit_krw: 1,
  binance_usdt: 1,
  usdt_krw: 1400,
  snapshot_at: '2026-11-21T13:05:00',
})

t.test('the middle of an odd number of coins, the mean of the two middle ones of an even number', async t => {
  const odd = [coin('A', 3), coin('B', -1), coin('C', 2)]
  t.match(summarise(odd), { median: 2, highest: { symbol: 'A' }, lowest: { symbol: 'B' } })
  t.match(summarise([...odd, coin('D', 5)]), { median: 2.5, highest: { symbol: 'D' } })
  t.match(summarise([coin('A', 1)]), { median: 1, highest: { symbol: 'A' }, lowest: { symbol: 'A' } })
})

t.test('an empty list has no summary', async t => {
  t.equal(summarise([]), undefined)
})
