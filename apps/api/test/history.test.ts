import { foldDays } from '@kimchi/core'
import pLimit from 'p-limit'
import t from 'tap'
import { type DayRows, dayRows, withDay } from '../src/documents/day-rows.ts'
import { createHistory } from '../src/documents/history.ts'
import { dayOf, daysBefore, MINUTE } from './board.ts'

const coin = { symbol: 'BTC', name: 'Bitcoin' }
const documentOf = (rows: DayRows, days: number, of = coin) =>
  createHistory(rows, of, MINUTE, pLimit(2)).document(days)
const textOf = (rows: DayRows, days: number, of = coin) => documentOf(rows, days, of).body.join('')
const read = (rows: DayRows, days: number) => JSON.parse(textOf(rows, days))
const tagOf = (rows: DayRows, of = coin) => documentOf(rows, 1, of).tag

const rows = dayRows([...daysBefore('2026-11-20', 3), dayOf('2026-11-20', 786)])

t.test('a history has the contract’s fields in their order, in percent, the average rounded', async t => {
  const premiums = [-15_000, 25_000, 1].map((premiumE4, index) => ({ minute: MINUTE + index, premiumE4 }))
  t.equal(
    textOf(dayRows(foldDays(premiums)), 1),
    '{"result":"ok","symbol":"BTC","name":"Bitcoin","count":1,"data":[{"date":"2026-11-20","open_pct":-1.5,' +
      '"high_pct":2.5,"low_pct":-1.5,"close_pct":0.0001,"avg_pct":0.3334,"samples":3}]}',
  )
})

t.test('the newest day is replaced by a newer state of itself, never by an older one', async t => {
  const newer = withDay(rows, dayOf('2026-11-20', 787))
  t.equal(read(newer, 365).count, 4)
  t.equal(read(newer, 1).data[0].samples, 787)
  t.equal(read(withDay(rows, { ...dayOf('2026-11-20', 786), high: 20_000 }), 1).data[0].high_pct, 2, 'mended')
  t.equal(withDay(newer, dayOf('2026-11-20', 786)), newer)
  t.equal(withDay(newer, undefined), newer)
})

t.test('a first day can be added to nothing, an older day changes nothing', async t => {
  t.equal(read(withDay(dayRows([]), dayOf('2026-11-20')), 365).count, 1)
  t.equal(withDay(rows, dayOf('2026-11-19')), rows)
})

t.test('a name with quotes and other scripts stays JSON', async t => {
  const odd = { symbol: 'X', name: 'A "quoted" \\ 币安人生' }
  t.equal(JSON.parse(textOf(rows, 1, odd)).name, odd.name)
})

t.test('the tag depends on the content alone', async t => {
  const days = [...daysBefore('2026-11-20', 400), dayOf('2026-11-20', 786)]
  const read = dayRows([...days, dayOf('2026-11-21', 1)])
  const turned = withDay(withDay(dayRows(days), dayOf('2026-11-20', 786)), dayOf('2026-11-21', 1))
  t.equal(tagOf(turned), tagOf(read))
  t.equal(textOf(turned, 3_650), textOf(read, 3_650))
  const others = [
    tagOf(rows, { symbol: 'BTC', name: 'Bitcoin Cash' }),
    tagOf(rows, { symbol: 'ETH', name: 'Bitcoin' }),
    tagOf(withDay(rows, dayOf('2026-11-20', 787))),
    tagOf(dayRows([dayOf('2026-11-20', 786)])),
  ]
  t.equal(new Set([tagOf(rows), ...others]).size, 5)
})
