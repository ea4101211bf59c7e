import { MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import type { Document } from '../src/documents/document.ts'
import { toLiveRow } from '../src/documents/wire.ts'
import { BITCOIN, boardOf, coinOf, dayOf, daysBefore, MINUTE, openTestApp, rowOf } from './board.ts'

// biome-ignore lint/suspicious/noExplicitAny: read as a caller of the API reads it
const read = (document: Document | undefined): any => JSON.parse(String(document?.identity))

t.test('the live list has the rows of the board, in its order, and the newest of their times', async t => {
  const rows = [rowOf('BTC', MINUTE - 2), rowOf('ETH', MINUTE), rowOf('XRP', MINUTE - 7)]
  const { documents } = await openTestApp(t, boardOf(MINUTE, ['BTC', 'ETH', 'XRP', 'NEW'], { rows }))
  const list = read(documents.live())
  t.strictSame(Object.keys(list), ['result', 'updated_at', 'count', 'note', 'data'])
  t.equal(list.count, 3)
  t.equal(list.updated_at, '2026-11-20T13:05:00')
  t.equal(list.note, 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.')
  t.strictSame(
    list.data,
    rows.map(row => toLiveRow(row, coinOf(row.symbol, 0).name)),
  )
})

t.test('simulated prices say so', async t => {
  const { documents } = await openTestApp(t, boardOf(MINUTE, ['BTC'], { prices: 'simulated' }))
  t.match(read(documents.live()).note, /^SIMULATED PRICES\. Premium is USDT-based/)
})

t.test('a new minute is read when it is heard of, once however often', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.board = boardOf(MINUTE + 1)
  const before = reader.boardsRead
  documents.onMinute(MINUTE + 1)
  await turns()
  t.equal(documents.newestMinute(), MINUTE + 1)
  t.equal(reader.boardsRead, before + 1)
})

t.test('messages during a read become one more read', async t => {
  const { documents, reader } = await openTestApp(t)
  let open = () => {}
  reader.gate = new Promise(resolve => {
    open = resolve
  })
  const before = reader.boardsRead
  for (let n = 0; n < 50; n++) documents.onMinute(MINUTE + 1)
  await turns()
  t.equal(reader.boardsRead, before + 1)
  open()
  await turns()
  t.equal(reader.boardsRead, before + 2)
})

t.test('a swarm of older minutes is read together within a second', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const before = reader.boardsRead
  for (let n = 1; n < 500; n++) documents.onMinute(MINUTE - n)
  await turns()
  t.equal(reader.boardsRead, before)
  await clock.advance(1_000)
  t.equal(reader.boardsRead, before + 1)
})

t.test('a lost message costs seconds, not the minute', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const before = reader.boardsRead
  await clock.advance(60_000)
  t.equal(reader.boardsRead, before, 'nothing is read while the next minute is not due')
  reader.board = boardOf(MINUTE + 1)
  await clock.advance(8_000)
  t.equal(documents.newestMinute(), MINUTE + 1)
})

t.test('when Redis is away the last good documents stay, and it is asked again every 2 s', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const live = documents.live()
  reader.board = new Error('connection lost')
  documents.onMinute(MINUTE + 1)
  await turns()
  t.equal(documents.live(), live)
  t.match(documents.status(), { problem: /connection lost/, refreshesFailed: 1 })
  reader.board = boardOf(MINUTE + 1)
  await clock.advance(2_000)
  t.equal(documents.newestMinute(), MINUTE + 1)
  t.equal(documents.status().problem, undefined)
})

t.test('an emptied Redis does not empty the answers', async t => {
  const { documents, reader } = await openTestApp(t)
  const live = documents.live()
  reader.board = boardOf(MINUTE, [])
  await documents.onReconnect()
  t.equal(documents.live(), live)
  t.match(documents.status().problem, /empty/)
})

t.test('a history is read once, however many ask for it first', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 5))
  t.equal(documents.history(BITCOIN, 365), undefined)
  await Promise.all(Array.from({ length: 100 }, () => documents.loadHistory(BITCOIN)))
  t.strictSame(reader.daysRead, ['BTC'])
  t.equal(read(documents.history(BITCOIN, 365)).count, 6, 'closed days and today’s')
  t.equal(documents.history(BITCOIN, 365), documents.history(BITCOIN, 3650), 'the same document')
})

t.test('today’s row grows with every minute, without another reading of the days', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', [...daysBefore('2026-11-20', 5), dayOf('2026-11-20', 786)])
  await documents.loadHistory(BITCOIN)
  reader.board = boardOf(MINUTE + 1)
  documents.onMinute(MINUTE + 1)
  await turns()
  t.equal(read(documents.history(BITCOIN, 1)).data[0].samples, 787)
  t.equal(reader.daysRead.length, 1)
})

t.test(
  'closed days are read again when their revision changed, and the old ones serve until then',
  async t => {
    const { documents, reader } = await openTestApp(t)
    reader.days.set('BTC', daysBefore('2026-11-20', 2))
    await documents.loadHistory(BITCOIN)
    reader.days.set('BTC', daysBefore('2026-11-20', 7))
    reader.board = boardOf(MINUTE, ['BTC'], { revisions: new Map([['BTC', 2]]) })
    documents.onMinute(MINUTE)
    t.equal(read(documents.history(BITCOIN, 365)).count, 3)
    await turns()
    t.equal(read(documents.history(BITCOIN, 365)).count, 8)
    documents.onMinute(MINUTE)
    await turns()
    t.equal(reader.daysRead.length, 2, 'and not again')
  },
)

t.test('at midnight yesterday stays, is read once more, and today begins', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', [...daysBefore('2026-11-20', 2), dayOf('2026-11-20', 786)])
  await documents.loadHistory(BITCOIN)
  const midnight = MINUTE - 785 + 1_440
  let open = () => {}
  reader.board = boardOf(midnight)
  documents.onMinute(midnight)
  reader.gate = new Promise(resolve => {
    open = resolve
  })
  await turns()
  const dates = () =>
    read(documents.history(BITCOIN, 2)).data.map((row: { date: string; samples: number }) => [
      row.date,
      row.samples,
    ])
  t.strictSame(dates(), [
    ['2026-11-20', 786],
    ['2026-11-21', 1],
  ])
  reader.days.set('BTC', [...daysBefore('2026-11-21', 3), dayOf('2026-11-21', 1)])
  open()
  await turns()
  t.strictSame(dates(), [
    ['2026-11-20', 1_440],
    ['2026-11-21', 1],
  ])
})

t.test('a reading of the days that fails is tried again with the next board', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 2))
  await documents.loadHistory(BITCOIN)
  const { readDays } = reader
  reader.readDays = async () => {
    throw new Error('time-out')
  }
  reader.board = boardOf(MINUTE, ['BTC'], { revisions: new Map([['BTC', 2]]) })
  documents.onMinute(MINUTE)
  await turns()
  t.equal(read(documents.history(BITCOIN, 365)).count, 3)
  reader.days.set('BTC', daysBefore('2026-11-20', 4))
  reader.readDays = readDays
  documents.onMinute(MINUTE)
  await turns()
  t.equal(read(documents.history(BITCOIN, 365)).count, 5)
})

t.test('many different numbers of days hold no more than a few documents', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 2_000))
  await documents.loadHistory(BITCOIN)
  const first = documents.history(BITCOIN, 1)
  t.equal(documents.history(BITCOIN, 1), first, 'asked again at once it is the same document')
  for (let days = 2; days < 60; days++) documents.history(BITCOIN, days)
  t.not(documents.history(BITCOIN, 1), first, 'dropped meanwhile')
  t.equal(documents.history(BITCOIN, 1)?.hash, first?.hash, 'but the same bytes')
  t.equal(reader.daysRead.length, 1)
})

t.test('nobody waits longer than a second for a Redis that does not answer', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  reader.gate = new Promise(() => {})
  let waited = false
  const waiting = documents.loadHistory(BITCOIN).then(() => {
    waited = true
  })
  await clock.advance(999)
  t.equal(waited, false)
  await clock.advance(1)
  await waiting
  t.equal(documents.history(BITCOIN, 365), undefined)
})

t.test('two minutes later the list is two minutes newer', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  for (const step of [1, 2]) {
    await clock.advance(MINUTE_MS)
    reader.board = boardOf(MINUTE + step)
    documents.onMinute(MINUTE + step)
    await turns()
  }
  t.equal(read(documents.live()).updated_at, '2026-11-20T13:07:00')
})

/** Lets everything that needs no time happen. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}
