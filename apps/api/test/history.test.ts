import t from 'tap'
import { dayRows, renderHistory, renderUsual, withDay } from '../src/documents/history.ts'
import { dayOf, daysBefore } from './board.ts'

const coin = { symbol: 'BTC', name: 'Bitcoin' }
const read = (rows: ReturnType<typeof dayRows>, days: number) =>
  JSON.parse(String(renderHistory(rows, coin, days)))
const dates = (rows: ReturnType<typeof dayRows>, days: number) =>
  read(rows, days).data.map((row: { date: string }) => row.date)

const rows = dayRows([...daysBefore('2026-11-20', 3), dayOf('2026-11-20', 786)])

t.test('a history has the spec’s fields in the spec’s order', async t => {
  t.equal(
    String(renderHistory(rows, coin, 1)),
    '{"result":"ok","symbol":"BTC","name":"Bitcoin","count":1,"data":[{"date":"2026-11-20","open_pct":1.2345,' +
      '"high_pct":1.2345,"low_pct":1.2345,"close_pct":1.2345,"avg_pct":1.2345,"samples":786}]}',
  )
})

t.test('the newest N days come ascending, however many are asked for', async t => {
  const all = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20']
  for (const days of [1, 2, 3, 4, 5, 365, 3650]) {
    t.strictSame(dates(rows, days), all.slice(-days))
    t.equal(read(rows, days).count, Math.min(days, 4))
  }
})

t.test('no days at all is an empty history', async t => {
  t.strictSame(read(dayRows([]), 365), { result: 'ok', symbol: 'BTC', name: 'Bitcoin', count: 0, data: [] })
})

t.test('the newest day is replaced by a newer state of itself', async t => {
  const newer = withDay(rows, dayOf('2026-11-20', 787))
  t.equal(read(newer, 365).count, 4)
  t.equal(read(newer, 1).data[0].samples, 787)
})

t.test('a new day closes the one before', async t => {
  const turned = withDay(rows, dayOf('2026-11-21', 1))
  t.strictSame(dates(turned, 3), ['2026-11-19', '2026-11-20', '2026-11-21'])
  t.equal(read(turned, 2).data[0].samples, 786)
})

t.test('a first day can be added to nothing, an older day changes nothing', async t => {
  t.equal(read(withDay(dayRows([]), dayOf('2026-11-20')), 365).count, 1)
  t.equal(withDay(rows, dayOf('2026-11-19')), rows)
})

t.test('a name with quotes and other scripts stays JSON', async t => {
  const odd = { symbol: 'X', name: 'A "quoted" \\ 币安人生' }
  t.equal(JSON.parse(String(renderHistory(rows, odd, 1))).name, odd.name)
})

for (const count of [3, 364, 365, 400]) {
  t.test(`${count} closed days that keep their bytes within the usual body go on as before`, async t => {
    const days = [...daysBefore('2026-11-20', count), dayOf('2026-11-20', 786)]
    const plain = dayRows(days)
    const [body, within] = renderUsual(plain, coin)
    t.strictSame(body, renderHistory(plain, coin, 365))
    t.equal(within.recent.buffer, body.buffer)
    for (const wanted of [1, 3, 364, 365, 366, 3650]) {
      t.equal(read(within, wanted).data.length, Math.min(wanted, count + 1))
      t.strictSame(renderHistory(within, coin, wanted), renderHistory(plain, coin, wanted))
    }
    const turned = withDay(within, dayOf('2026-11-21', 1))
    const anew = dayRows([...days, dayOf('2026-11-21', 1)])
    for (const wanted of [1, 365, 3650]) {
      t.strictSame(renderHistory(turned, coin, wanted), renderHistory(anew, coin, wanted))
    }
  })
}
