import type { DailyPremium } from '@kimchi/client'
import t from 'tap'
import { averageOf, calendarOf, changeSince, dayBefore, toDays } from '../../src/coin/days.ts'

const day = (date: string, close: number, more: Partial<DailyPremium> = {}): DailyPremium => ({
  date,
  open_pct: 1,
  high_pct: 3,
  low_pct: 0.5,
  close_pct: close,
  avg_pct: 2,
  samples: 1440,
  ...more,
})
const TODAY = '2026-11-21'
const DAYS = [day('2026-11-19', 1), day('2026-11-20', 2, { samples: 1200 }), day(TODAY, 3, { samples: 786 })]

t.test('today is running, an earlier day with minutes missing is partial; no value is changed', async t => {
  t.match(toDays(DAYS, TODAY, 90), [
    { ...DAYS[0], status: 'whole' },
    { ...DAYS[1], status: 'partial' },
    { ...DAYS[2], status: 'running' },
  ])
})

t.test('the average is that of all minutes', async t => {
  const days = [
    day('2026-11-18', 1, { avg_pct: 1, samples: 1000 }),
    day('2026-11-19', 2, { avg_pct: 4, samples: 500 }),
    day(TODAY, 9, { avg_pct: 0, samples: 60 }),
  ]
  t.equal(averageOf(toDays(days, TODAY, 90)), (1 * 1000 + 4 * 500) / 1560)
})

t.test('the change is since the close of the day before; without that there is none', async t => {
  t.equal(changeSince(2, 2.3), 0.3)
  t.equal(changeSince(undefined, -0.1), undefined)
  t.equal(dayBefore('2026-03-01'), '2026-02-28')
})

/** The days from 8 on that are kept, with the day of the month as close; 12 to 15 are missing. */
const HOLED = [8, 9, 10, 11, 16, 17].map(date => day(`2026-11-${String(date).padStart(2, '0')}`, date))

t.test('a range counts dates, and a date without a row has a place of its own', async t => {
  t.strictSame(
    toDays(HOLED, TODAY, 8).map(({ date }) => date.slice(8)),
    ['10', '11', '16', '17'],
  )
  const dates = calendarOf(HOLED)
  t.equal(dates.length, 10)
  t.strictSame(dates.slice(3, 6), ['2026-11-11', '2026-11-12', '2026-11-13'])
  t.strictSame(calendarOf([]), [])
})
