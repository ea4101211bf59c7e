import type { DailyPremium } from '@kimchi/client'
import t from 'tap'
import { changeSinceYesterday, figuresOf, movingAverage, toCsv, toDays } from '../../src/coin/days.ts'

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
  t.match(toDays(DAYS, TODAY), [
    { ...DAYS[0], isRunning: false, isPartial: false },
    { ...DAYS[1], isRunning: false, isPartial: true },
    { ...DAYS[2], isRunning: true, isPartial: false },
  ])
})

t.test(
  'the average is that of all minutes, percentile and z-score are those of the newest premium',
  async t => {
    const days = toDays(
      [
        day('2026-11-18', 1, { avg_pct: 1, samples: 1000 }),
        day('2026-11-19', 2, { avg_pct: 4, samples: 500 }),
        day('2026-11-20', 6),
        day(TODAY, 9, { avg_pct: 0, samples: 60 }),
      ],
      TODAY,
    )
    const figures = figuresOf(days, 5)
    t.equal(figures?.average, (1 * 1000 + 4 * 500 + 2 * 1440) / 3000)
    t.equal(Math.round((figures?.percentile ?? 0) * 10), 667)
    t.equal(figures?.zScore?.toFixed(4), ((5 - 3) / Math.sqrt((4 + 1 + 9) / 2)).toFixed(4))
  },
)

t.test(
  'without a premium or two earlier days there is no percentile, without a spread no z-score',
  async t => {
    const none = { percentile: undefined, zScore: undefined }
    t.match(figuresOf(toDays([day('2026-11-20', 2), day(TODAY, 3)], TODAY), 3), none)
    t.match(figuresOf(toDays(DAYS, TODAY), undefined), none)
    const flat = [day('2026-11-19', 2), day('2026-11-20', 2), day(TODAY, 3)]
    t.match(figuresOf(toDays(flat, TODAY), 3), { percentile: 100, zScore: undefined })
    t.equal(figuresOf([], 3), undefined)
  },
)

t.test('the change is since yesterday’s close; without yesterday there is none', async t => {
  t.equal(changeSinceYesterday(DAYS, 2.3, TODAY), 0.3)
  t.equal(changeSinceYesterday(DAYS, -0.1, '2026-12-01'), undefined)
})

t.test('a moving average begins with the first day that has enough before it', async t => {
  t.strictSame(movingAverage(DAYS, 2), [
    { date: '2026-11-20', value: 1.5 },
    { date: TODAY, value: 2.5 },
  ])
  t.strictSame(movingAverage(DAYS, 7), [])
})

t.test('the file has the API’s names and numbers, and marks the running day', async t => {
  t.equal(
    toCsv(toDays(DAYS, TODAY)),
    [
      'date,open_pct,high_pct,low_pct,close_pct,avg_pct,samples,status',
      '2026-11-19,1,3,0.5,1,2,1440,whole',
      '2026-11-20,1,3,0.5,2,2,1200,partial',
      '2026-11-21,1,3,0.5,3,2,786,running',
      '',
    ].join('\r\n'),
  )
})
