import type { DailyPremium } from '@kimchi/client'
import t from 'tap'
import { figuresOf, toCsv, toDays } from '../../src/coin/history.ts'

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
const row = (premium: number, at = '2026-11-21T13:05:00') => ({
  symbol: 'BTC',
  name: 'Bitcoin',
  premium_pct: premium,
  upbit_krw: 1,
  binance_usdt: 1,
  usdt_krw: 1,
  snapshot_at: at,
})
const TODAY = '2026-11-21'
const DAYS = [day('2026-11-19', 1), day('2026-11-20', 2, { samples: 1200 }), day(TODAY, 3, { samples: 786 })]

t.test('today is running, an earlier day with minutes missing is partial', async t => {
  t.match(toDays(DAYS, undefined, TODAY), [
    { isRunning: false, isPartial: false },
    { isRunning: false, isPartial: true },
    { isRunning: true, isPartial: false, close_pct: 3 },
  ])
})

t.test('the live row brings today up to its minute, and no other day', async t => {
  t.match(toDays(DAYS, row(4), TODAY).at(-1), { open_pct: 1, high_pct: 4, low_pct: 0.5, close_pct: 4 })
  t.match(toDays(DAYS, row(-1), TODAY).at(-1), { high_pct: 3, low_pct: -1, close_pct: -1 })
  t.match(toDays(DAYS, row(9, '2026-11-20T23:59:00'), TODAY).at(-1), { high_pct: 3, close_pct: 3 })
  t.match(toDays(DAYS, row(9), TODAY)[1], { high_pct: 3, close_pct: 2 })
})

t.test('the average is that of all minutes, percentile and z-score are those of today’s close', async t => {
  const figures = figuresOf(
    toDays(
      [
        day('2026-11-18', 1, { avg_pct: 1, samples: 1000 }),
        day('2026-11-19', 2, { avg_pct: 4, samples: 500 }),
        day('2026-11-20', 6),
        day(TODAY, 5, { avg_pct: 0, samples: 60 }),
      ],
      undefined,
      TODAY,
    ),
  )
  t.equal(figures?.average, (1 * 1000 + 4 * 500 + 2 * 1440) / 3000)
  t.equal(Math.round((figures?.percentile ?? 0) * 10), 667)
  t.equal(figures?.zScore?.toFixed(4), ((5 - 3) / Math.sqrt((4 + 1 + 9) / 2)).toFixed(4))
})

t.test(
  'there is no percentile without today or two earlier days, and no z-score without a spread',
  async t => {
    const none = { percentile: undefined, zScore: undefined }
    t.match(figuresOf(toDays([day('2026-11-20', 2), day(TODAY, 3)], undefined, TODAY)), none)
    t.match(figuresOf(toDays(DAYS.slice(0, 2), undefined, TODAY)), none)
    const flat = [day('2026-11-19', 2), day('2026-11-20', 2), day(TODAY, 3)]
    t.match(figuresOf(toDays(flat, undefined, TODAY)), { percentile: 100, zScore: undefined })
    t.equal(figuresOf([]), undefined)
  },
)

t.test('the file has the API’s names and numbers', async t => {
  t.equal(
    toCsv(toDays(DAYS.slice(1, 2), undefined, TODAY)),
    'date,open_pct,high_pct,low_pct,close_pct,avg_pct,samples\r\n2026-11-20,1,3,0.5,2,2,1200\r\n',
  )
})
