import t from 'tap'
import { arrange, nextSorting } from '../../src/table/rows.ts'

const coin = (symbol: string, name: string, premium_pct: number, snapshot_at = '2026-11-21T13:05:00') => ({
  symbol,
  name,
  premium_pct,
  upbit_krw: 1,
  binance_usdt: 1,
  usdt_krw: 1,
  snapshot_at,
})
const COINS = [
  coin('BTC', 'Bitcoin', 1),
  coin('XRP', 'XRP', -2, '2026-11-21T13:01:00'),
  coin('ETH', 'Ethereum', 3),
]
const symbols = (...args: Parameters<typeof arrange> extends [unknown, ...infer Rest] ? Rest : never) =>
  arrange(COINS, ...args).map(({ symbol }) => symbol)
const ALL = { text: '' }

t.test('sorts by premium, by name, and by age, which grows as the time goes back', async t => {
  t.strictSame(symbols({ column: 'premium_pct', isAscending: false }, ALL), ['ETH', 'BTC', 'XRP'])
  t.strictSame(symbols({ column: 'premium_pct', isAscending: true }, ALL), ['XRP', 'BTC', 'ETH'])
  t.strictSame(symbols({ column: 'symbol', isAscending: true }, ALL), ['BTC', 'ETH', 'XRP'])
  t.strictSame(symbols({ column: 'snapshot_at', isAscending: false }, ALL)[0], 'XRP')
})

t.test('looks for symbols and names, in any letter case, and among favourites', async t => {
  const sorting = { column: 'symbol', isAscending: true } as const
  t.strictSame(symbols(sorting, { text: ' eth' }), ['ETH'])
  t.strictSame(symbols(sorting, { text: 'BIT' }), ['BTC'])
  t.strictSame(symbols(sorting, { text: '', only: new Set(['XRP', 'GONE']) }), ['XRP'])
  t.strictSame(symbols(sorting, { text: 'btc', only: new Set(['XRP']) }), [])
})

t.test('a column begins with its largest, the coin with A; the same column turns round', async t => {
  const byPremium = { column: 'premium_pct', isAscending: false } as const
  t.strictSame(nextSorting(byPremium, 'premium_pct'), { column: 'premium_pct', isAscending: true })
  t.strictSame(nextSorting(byPremium, 'upbit_krw'), { column: 'upbit_krw', isAscending: false })
  t.strictSame(nextSorting(byPremium, 'symbol'), { column: 'symbol', isAscending: true })
})
