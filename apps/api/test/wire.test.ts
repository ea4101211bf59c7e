import { foldDays } from '@kimchi/core'
import t from 'tap'
import { toDailyRow, toLiveRow } from '../src/documents/wire.ts'

const minute = Date.UTC(2026, 10, 20, 23, 59) / 60_000

const row = {
  symbol: 'BTC',
  minute,
  upbitKrw: 151_500_000,
  binanceUsdt: 106_543.21,
  usdtKrw: 1_408,
  premiumE4: 9_915,
}

t.test('a row becomes a live row with exactly the published fields, prices verbatim', async t => {
  t.strictSame(toLiveRow(row, 'Bitcoin'), {
    symbol: 'BTC',
    name: 'Bitcoin',
    premium_pct: 0.9915,
    upbit_krw: 151_500_000,
    binance_usdt: 106_543.21,
    usdt_krw: 1_408,
    snapshot_at: '2026-11-20T23:59:00',
  })
})

t.test('a day becomes a row in percent, its average rounded to four decimals', async t => {
  const premiums = [-15_000, 25_000, 1]
  const days = foldDays(premiums.map((premiumE4, index) => ({ minute: minute - 2 + index, premiumE4 })))
  t.strictSame(days.map(toDailyRow), [
    {
      date: '2026-11-20',
      open_pct: -1.5,
      high_pct: 2.5,
      low_pct: -1.5,
      close_pct: 0.0001,
      avg_pct: 0.3334,
      samples: 3,
    },
  ])
})
