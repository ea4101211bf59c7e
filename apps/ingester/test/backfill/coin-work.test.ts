import { HOUR_MS } from '@kimchi/core'
import { HttpError } from '@kimchi/feeds'
import t from 'tap'
import { compareWork, createCoinWork, DEFER_MS } from '../../src/backfill/coin-work.ts'
import { minutesOf } from '../../src/backfill/ranges.ts'
import { BTC } from '../support/backfill-bench.ts'

const D = 20_000 * 1_440
const ALL = { start: D, end: D + 2_880 }

t.test('gives the newest page of holes, and none that is not complete yet', async t => {
  const work = createCoinWork(BTC)
  work.look(
    ALL,
    [
      { start: D + 10, end: D + 20 },
      { start: D + 300, end: D + 700 },
    ],
    0,
  )
  t.strictSame(work.next(0, D + 650), minutesOf({ start: D + 451, end: D + 651 }))
  work.take(minutesOf({ start: D + 300, end: D + 700 }))
  t.strictSame(work.next(0, D + 650), minutesOf({ start: D + 10, end: D + 20 }))
  work.take(minutesOf({ start: D + 10, end: D + 20 }))
  t.strictSame(work.next(0, D + 650), [])
  work.putBack([D + 12])
  t.strictSame(work.next(0, D + 650), [D + 12])
})

t.test(
  'a look replaces what was known of its window only, and never brings back what is settled',
  async t => {
    const work = createCoinWork(BTC)
    work.look(
      ALL,
      [
        { start: D, end: D + 5 },
        { start: D + 100, end: D + 105 },
      ],
      0,
    )
    work.settle([D + 101, D + 102])
    work.look({ start: D + 90, end: D + 200 }, [{ start: D + 100, end: D + 104 }], 0)
    t.strictSame(work.holes, [
      { start: D, end: D + 5 },
      { start: D + 100, end: D + 101 },
      { start: D + 103, end: D + 104 },
    ])
  },
)

t.test('deferred minutes come back together', async t => {
  const work = createCoinWork(BTC)
  work.defer([D + 1], 0)
  work.defer([D + 2], DEFER_MS / 2)
  work.look(ALL, [{ start: D, end: D + 5 }], DEFER_MS - 1)
  t.strictSame(work.holes, [
    { start: D, end: D + 1 },
    { start: D + 3, end: D + 5 },
  ])
  work.look(ALL, [{ start: D, end: D + 5 }], DEFER_MS)
  t.strictSame(work.holes, [{ start: D, end: D + 5 }])
})

t.test(
  '41. a refused coin is tried every two minutes in its first hour, then less often; a success forgives',
  async t => {
    const attempts = (cause: Error, untilMs: number) => {
      const work = createCoinWork(BTC)
      const at: number[] = []
      for (let now = 0; now < untilMs; now += 1_000) {
        work.look(ALL, [{ start: D, end: D + 5 }], now)
        if (work.next(now, D + 10).length === 0) continue
        at.push(now)
        work.fail(cause, now)
      }
      return at
    }
    const refused = attempts(new HttpError('KIMCHI_ERR_REST', 'HTTP 404', 404), 24 * HOUR_MS)
    t.equal(refused.filter(now => now < HOUR_MS).length, 30)
    t.ok(refused.every((now, index) => index === 0 || now - (refused[index - 1] ?? 0) >= 120_000))
    t.ok(refused.length < 70, `${refused.length} attempts in a day`)
    const failing = attempts(new Error('socket hang up'), HOUR_MS)
    t.ok(failing.length <= 34, 'a few quick ones at first')
    t.strictSame(failing.slice(0, 3), [0, 5_000, 25_000])
    const work = createCoinWork(BTC)
    work.fail(new Error('socket hang up'), 0)
    t.match(work.trouble, { symbol: 'BTC', reason: 'socket hang up', retryAt: 5_000 })
    work.succeed()
    t.equal(work.trouble, undefined)
  },
)

t.test('holes of the last minutes come before all others, then the newer day', async t => {
  const order = [D + 1_500, D + 2_875, D + 20, D + 2_000, D + 2_879].sort((a, b) =>
    compareWork(a, b, D + 2_870),
  )
  t.strictSame(order, [D + 2_875, D + 2_879, D + 1_500, D + 2_000, D + 20], 'as they were within a day')
})
