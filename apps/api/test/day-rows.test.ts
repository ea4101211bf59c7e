import { foldDays } from '@kimchi/core'
import t from 'tap'
import { renderDay } from '../src/documents/day-rows.ts'

const minute = Date.UTC(2026, 10, 20, 23, 59) / 60_000

t.test('a day becomes a row in percent, its average rounded to four decimals', async t => {
  const premiums = [-15_000, 25_000, 1]
  const days = foldDays(premiums.map((premiumE4, index) => ({ minute: minute - 2 + index, premiumE4 })))
  t.strictSame(days.map(renderDay), [
    '{"date":"2026-11-20","open_pct":-1.5,"high_pct":2.5,"low_pct":-1.5,"close_pct":0.0001,"avg_pct":0.3334,' +
      '"samples":3}',
  ])
})
