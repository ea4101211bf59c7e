import t from 'tap'
import { arrange, type Sorting } from '../../src/table/rows.ts'

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
const symbols = (sorting: Sorting | undefined, text = '') =>
  arrange(COINS, { sorting, text }, nameOf, changeOf).map(({ symbol }) => symbol)
const changeOf = ({ symbol }: { symbol: string }) => ({ BTC: -0.1, ETH: 0.2 })[symbol]
const KOREAN: Record<string, string> = { BTC: '비트코인', XRP: '엑스알피(리플)' }
const nameOf = ({ symbol, name }: { symbol: string; name: string }) => KOREAN[symbol] ?? name

t.test('keeps the order of the list until somebody sorts, by premium or by name', async t => {
  t.strictSame(symbols(undefined), ['BTC', 'XRP', 'ETH'])
  t.strictSame(symbols({ column: 'premium', isAscending: false }), ['ETH', 'BTC', 'XRP'])
  t.strictSame(symbols({ column: 'premium', isAscending: true }), ['XRP', 'BTC', 'ETH'])
  t.strictSame(symbols({ column: 'since', isAscending: false }), ['ETH', 'BTC', 'XRP'])
  t.strictSame(symbols({ column: 'since', isAscending: true }), ['BTC', 'ETH', 'XRP'], 'unknown last')
  t.strictSame(symbols({ column: 'coin', isAscending: true }), ['BTC', 'ETH', 'XRP'])
})

t.test('a column that a device remembers and the page no longer has sorts nothing', async t => {
  t.strictSame(symbols({ column: 'age' as 'coin', isAscending: true }), ['BTC', 'XRP', 'ETH'])
})

t.test('finds symbols and names in any letter case', async t => {
  const sorting = { column: 'coin', isAscending: true } as const
  t.strictSame(symbols(sorting, ' eth'), ['ETH'])
  t.strictSame(symbols(sorting, 'BIT'), ['BTC'])
})

t.test('finds Korean names, also when a keyboard sends them letter by letter', async t => {
  const sorting = { column: 'coin', isAscending: true } as const
  t.strictSame(symbols(sorting, '비트'), ['BTC'])
  t.strictSame(symbols(sorting, '빝'), ['BTC'], 'while the second syllable is being typed')
  t.strictSame(symbols(sorting, '리플'.normalize('NFD')), ['XRP'])
})

t.test('finds Korean names by initial consonants, also those that a keyboard has joined', async t => {
  const found = (text: string) => symbols(undefined, text)
  t.strictSame(found('ㅂㅌ'), ['BTC'])
  t.strictSame(found('비ㅌ'), ['BTC'])
  t.strictSame(found('ㄹㅍ'), ['XRP'])
  t.strictSame(found('ㄿ'), ['XRP'])
  t.strictSame(found('ㅌㅂ'), [])
  t.strictSame(found('엑스알피(ㄹ'), ['XRP'], 'other characters stand for themselves')
  t.strictSame(found('.'), [])
})

t.test('sorts by the gap in won and by Binance’s price in won', async t => {
  const coins = [
    { ...coin('A', 'A', 1), upbit_krw: 1_500, binance_usdt: 1, usdt_krw: 1_400 },
    { ...coin('B', 'B', 1), upbit_krw: 2_750, binance_usdt: 2, usdt_krw: 1_400 },
  ]
  const by = (column: 'gap' | 'binance') =>
    arrange(coins, { text: '', sorting: { column, isAscending: false } }, nameOf, changeOf).map(
      ({ symbol }) => symbol,
    )
  t.strictSame(by('gap'), ['A', 'B'])
  t.strictSame(by('binance'), ['B', 'A'])
})
