import t from 'tap'
import { formatLiveRow, parseCoin, parseDay, parseLiveRow } from '../src/rows.ts'
import { BTC, rowOf, sampleOf } from './fixtures.ts'

/** Values that are of a wrong type for every field. */
const WRONG = [null, true, '1', [1], {}]

/** The text of an object with one field changed, for each change. */
function changed(whole: object, changes: Readonly<Record<string, readonly unknown[]>>): string[] {
  return Object.entries(changes).flatMap(([field, values]) =>
    values.map(value => JSON.stringify({ ...whole, [field]: value })),
  )
}

t.test('a live row with any field wrong is not read', async t => {
  const sample = sampleOf('BTC', 29_000_000)
  const text = formatLiveRow(sample, 'Bitcoin')
  t.strictSame(JSON.parse(text), {
    symbol: 'BTC',
    name: 'Bitcoin',
    premium_pct: 1.2442,
    upbit_krw: 150_000_123,
    binance_usdt: 101_234.56,
    usdt_krw: 1_463.5,
    snapshot_at: '2025-02-19T21:20:00',
  })
  t.strictSame(parseLiveRow('BTC', text), rowOf(sample))
  t.equal(parseLiveRow('ETH', text), undefined)
  const prices = { upbit_krw: [...WRONG, 0], binance_usdt: [...WRONG, 0], usdt_krw: [...WRONG, 0] }
  const rest = {
    symbol: ['ETH'],
    name: [1, null],
    premium_pct: [...WRONG, 1.23456],
    snapshot_at: [1, '2026-13-01T00:00:00'],
  }
  for (const wrong of changed(JSON.parse(text), { ...prices, ...rest })) {
    t.equal(parseLiveRow('BTC', wrong), undefined, wrong)
  }
})

t.test('a coin with any field wrong is not read', async t => {
  const { symbol, ...fields } = BTC
  t.strictSame(parseCoin(symbol, JSON.stringify({ ...fields, order: 0 })), { ...BTC, order: 0 })
  t.strictSame(parseCoin(symbol, JSON.stringify({ ...fields, order: null })), { ...BTC, order: undefined })
  const texts = { name: [1, null], upbit: [1, null], binance: [1, null], order: [-1, 0.5, '0'] }
  for (const wrong of [...changed({ ...fields, order: 0 }, texts), '[]', 'null', '1', '{']) {
    t.equal(parseCoin(symbol, wrong), undefined, wrong)
  }
})

t.test('a day with any field wrong is not read', async t => {
  const premiums = { open: -1, high: 5, low: -7, close: 2, sum: 3 }
  const row = { ...premiums, samples: 1, first: 0, last: 0 }
  const day = { date: '2026-11-20', ...premiums, samples: 1, firstMinute: 0, lastMinute: 0 }
  t.strictSame(parseDay('2026-11-20', JSON.stringify(row)), day)
  t.equal(parseDay('2026-02-30', JSON.stringify(row)), undefined, 'no such date')
  const integers = [...WRONG, 0.5, 2 ** 53]
  const wrongs = changed(row, {
    ...Object.fromEntries(Object.keys(premiums).map(field => [field, integers])),
    samples: [...integers, 0],
    first: [...integers, -1, 1],
    last: [...integers, -1],
  })
  for (const wrong of wrongs) t.equal(parseDay('2026-11-20', wrong), undefined, wrong)
})
