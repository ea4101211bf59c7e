import type { Day, EpochMinute } from '@kimchi/core'
import type { Board } from '@kimchi/store'
import t, { type Test } from 'tap'
import type { Coding, Document } from '../src/documents/document.ts'
import { boardOf, dayOf, daysBefore, MINUTE, openTestApp } from './board.ts'
import { eventually } from './stack.ts'

// biome-ignore lint/suspicious/noExplicitAny: read as a caller of the API reads it
const read = (document: Document | null | undefined): any => JSON.parse(document?.body.join('') ?? 'null')

/** Documents that hold BTC's history. @param days the closed ones and, where it is read with them, today */
async function openHistory(t: Test, days: readonly Day[], board?: Board) {
  const app = await openTestApp(t, board)
  app.reader.days.set('BTC', days)
  await app.documents.load('BTC')
  const rowsOf = (days: number, symbol = 'BTC') => read(app.documents.history(symbol, days)).data
  return { ...app, rowsOf }
}

/** Has the days of every coin be unreadable until what it returns is called. */
function failDays({ reader }: Pick<Awaited<ReturnType<typeof openTestApp>>, 'reader'>) {
  const { readDays } = reader
  reader.readDays = async symbol => {
    reader.daysRead.push(symbol)
    throw new Error('WRONGTYPE')
  }
  return () => {
    reader.readDays = readDays
  }
}

t.test('simulated prices say so', async t => {
  const { documents } = await openTestApp(t, boardOf(MINUTE, ['BTC'], { prices: 'simulated' }))
  t.match(read(documents.live()).note, /^SIMULATED PRICES\. Premium is USDT-based/)
})

t.test('messages during a read lead to one more read', async t => {
  const { documents, reader } = await openTestApp(t)
  const release = reader.hold()
  const before = reader.boardsRead
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 50; n++) documents.onMinute(MINUTE + 1)
    await turns()
    t.equal(reader.boardsRead, before + 1)
  }
  release()
  await turns()
  t.equal(reader.boardsRead, before + 2)
})

t.test('reads many older minutes together within a second', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const before = reader.boardsRead
  for (let n = 1; n < 500; n++) documents.onMinute(MINUTE - n)
  await turns()
  t.equal(reader.boardsRead, before)
  await clock.advance(1_000)
  t.equal(reader.boardsRead, before + 1)
  for (let n = 1; n <= 30; n++) {
    documents.onMinute(MINUTE - n)
    await clock.advance(100)
  }
  const more = reader.boardsRead - before - 1
  t.ok(more >= 2 && more <= 3, `${more} reads in 3 s, however many messages come`)
})

// docs/faults.md, 48
t.test('polls for an overdue minute at once, and every 2 s, however long it is overdue', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const readsWithin = async (ms: number) => {
    const count = reader.boardsRead
    await clock.advance(ms)
    return reader.boardsRead - count
  }
  t.equal(await readsWithin(60_999), 0, 'nothing is read while the next minute is not due')
  t.equal(await readsWithin(1), 1, '63 s after the newest snapshot')
  t.equal(await readsWithin(90_000), 45)
  reader.board = boardOf(MINUTE + 2)
  await clock.advance(2_000)
  await eventually('the minute', () => documents.live()?.minute === MINUTE + 2)
})

t.test('asks for the first list every 2 s', async t => {
  const { reader, clock } = await openTestApp(t, boardOf(MINUTE, []))
  const before = reader.boardsRead
  await clock.advance(60_000)
  t.equal(reader.boardsRead - before, 30)
})

t.test('a clock that is an hour behind does not keep Redis from being read', async t => {
  const { reader, clock } = await openTestApp(t, boardOf(MINUTE + 60))
  const before = reader.boardsRead
  await clock.advance(63_000)
  t.equal(reader.boardsRead, before + 1)
})

t.test('while Redis is away the last good documents stay, and it is polled every 2 s', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  const live = documents.live()
  reader.board = new Error('connection lost')
  documents.onMinute(MINUTE + 1)
  await turns()
  t.equal(documents.live(), live)
  t.match(documents.status(), { problem: { text: /connection lost/ } })
  reader.board = boardOf(MINUTE + 1)
  await clock.advance(2_000)
  await eventually('the minute', () => documents.live()?.minute === MINUTE + 1)
  t.equal(documents.status().problem, undefined)
})

// docs/faults.md, 50
t.test(
  'an hour without Redis costs a read every 2 s and one log line, however many requests come',
  async t => {
    const { documents, reader, clock, log } = await openTestApp(t)
    reader.board = new Error('connection lost')
    const [reads, lines] = [reader.boardsRead, log.lines.length]
    documents.onMinute(MINUTE + 1)
    await turns()
    for (let second = 0; second < 3_600; second++) {
      await documents.load('BTC')
      await clock.advance(1_000)
    }
    t.ok(reader.boardsRead - reads <= 1_802, `${reader.boardsRead - reads} reads`)
    t.equal(reader.daysRead.length, 0, 'a history is not asked for while it is known that Redis is away')
    t.equal(log.lines.length - lines, 1)
  },
)

// docs/faults.md, 50
t.test('an unreadable history is read once with each board, and logged once', async t => {
  const app = await openTestApp(t)
  const { documents, reader, log } = app
  const mend = failDays(app)
  const lines = log.lines.length
  for (let board = 1; board <= 20; board++) {
    for (let n = 0; n < 10; n++) await documents.load('BTC')
    t.equal(reader.daysRead.length, board)
    documents.onMinute(MINUTE)
    await turns()
  }
  t.equal(log.lines.length - lines, 1)
  t.equal(documents.history('BTC', 365), undefined)
  mend()
  documents.onMinute(MINUTE)
  await eventually('the days', () => documents.history('BTC', 365))
})

t.test('a history that could not be read is read again when Redis is back', async t => {
  const { documents, reader } = await openTestApp(t)
  const { readDays } = reader
  let fail = () => {}
  reader.readDays = () =>
    new Promise((_, reject) => {
      fail = () => reject(new Error('connection lost'))
    })
  const waiting = documents.load('BTC')
  await turns()
  await documents.onReconnect()
  reader.readDays = readDays
  fail()
  await waiting
  t.ok(documents.history('BTC', 365), 'also when the read that failed had begun before')
})

// docs/architecture.md#api
t.test('closed days are read again when Redis is back, though no revision tells of a change', async t => {
  const { documents, reader, rowsOf } = await openHistory(t, daysBefore('2026-11-20', 2))
  reader.days.set('BTC', daysBefore('2026-11-20', 7))
  await documents.onReconnect()
  await eventually('the days', () => rowsOf(365).length === 8)
})

// docs/faults.md, 116
t.test('when all coins are halted, an old replica and a new one give the same empty list', async t => {
  const allHalted = boardOf(MINUTE + 1, ['BTC'], { rows: [], newestMinute: MINUTE })
  const { documents, reader } = await openTestApp(t)
  reader.board = allHalted
  await documents.onReconnect()
  const { documents: ofNewReplica } = await openTestApp(t, allHalted)
  await documents.load('BTC')
  t.equal(documents.history('BTC', 1)?.minute, MINUTE, 'of which a history is, too')
  for (const list of [documents.live(), ofNewReplica.live()])
    t.match(read(list), { result: 'ok', count: 0, data: [], updated_at: '2026-11-20T13:05:00' })
  t.equal(documents.live()?.tag, ofNewReplica.live()?.tag)
})

// docs/faults.md, 26
t.test('while Redis holds no minute, nothing is served of it, though coins are listed', async t => {
  const unwritten = boardOf(MINUTE, ['BTC'], { rows: [], newestMinute: 0 })
  const { documents: first } = await openTestApp(t, unwritten)
  await first.load('BTC')
  t.equal(first.history('BTC', 365), undefined)
  const { documents, reader } = await openHistory(t, daysBefore('2026-11-20', 2))
  const before = [documents.live(), documents.history('BTC', 365)]
  reader.days.clear()
  for (const board of [boardOf(MINUTE, []), unwritten]) {
    reader.board = board
    await documents.onReconnect()
    await turns()
    t.strictSame([documents.live(), documents.history('BTC', 365)], before)
    t.match(documents.status().problem?.text, /empty/)
  }
})

t.test('a history is read once, however many ask for it first', async t => {
  const { documents, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 5))
  t.equal(documents.history('BTC', 365), undefined)
  t.equal(documents.history('NOPE', 365), null)
  await Promise.all(Array.from({ length: 100 }, () => documents.load('BTC')))
  t.strictSame(reader.daysRead, ['BTC'])
  t.equal(read(documents.history('BTC', 365)).count, 6, 'closed days and today’s')
  t.equal(documents.history('BTC', 365), documents.history('BTC', 3_650), 'the same document')
})

t.test('the live list is compressed before it is published, as the list before was', async t => {
  const coins = Array.from({ length: 20 }, (_, n) => `C${n}`)
  const app = await openTestApp(t, boardOf(MINUTE, coins))
  const { documents } = app
  const isMade = (coding: Coding) => documents.live()?.compressed?.get(coding) !== undefined
  const publish = async (minute: EpochMinute) => {
    app.publish(boardOf(minute, coins))
    await eventually('the minute', () => documents.live()?.minute === minute)
  }
  await documents.live()?.compressed?.make('br')
  for (const minute of [MINUTE + 1, MINUTE + 2]) {
    await publish(minute)
    t.ok(isMade('br'))
    t.notOk(isMade('gzip'))
  }
})

t.test('today’s row grows with every minute, without another read of the days', async t => {
  const days = [...daysBefore('2026-11-20', 5), dayOf('2026-11-20', 786)]
  const { reader, publish, rowsOf } = await openHistory(t, days)
  publish(boardOf(MINUTE + 1))
  await eventually('today', () => rowsOf(1)[0].samples === 787)
  t.equal(reader.daysRead.length, 1)
})

t.test('reads closed days again when their revision changed, and serves the old ones until then', async t => {
  const { documents, reader, publish, rowsOf } = await openHistory(t, daysBefore('2026-11-20', 2))
  reader.days.set('BTC', daysBefore('2026-11-20', 7))
  publish(boardOf(MINUTE, ['BTC'], { revisions: new Map([['BTC', 2]]) }))
  t.equal(rowsOf(365).length, 3)
  await eventually('the days', () => rowsOf(365).length === 8)
  documents.onMinute(MINUTE)
  await turns()
  t.equal(reader.daysRead.length, 2, 'and not again')
})

t.test('while backfill writes, an unchanged history is not compressed again', async t => {
  const board = boardOf(MINUTE, ['BTC', 'ETH'])
  const { documents, reader, publish, rowsOf } = await openHistory(t, daysBefore('2026-11-20', 30), board)
  await documents.load('ETH')
  const before = documents.history('BTC', 30)
  reader.days.set('ETH', daysBefore('2026-11-20', 7))
  const revisions = new Map(Object.entries({ BTC: 1, ETH: 2 }))
  publish(boardOf(MINUTE, ['BTC', 'ETH'], { revisions }))
  await eventually('the days', () => rowsOf(365, 'ETH').length === 8)
  t.equal(documents.history('BTC', 30), before)
})

t.test('serves a Redis that was emptied and filled again between two reads', async t => {
  const [board, days] = [boardOf(MINUTE, ['BTC', 'ETH']), daysBefore('2026-11-20', 2)]
  const { documents, reader, publish, rowsOf } = await openHistory(t, days, board)
  reader.days.set('ETH', days)
  await documents.load('ETH')
  reader.days.clear()
  const todayRows = { BTC: dayOf('2026-11-20', 1), ETH: dayOf('2026-11-20', 787) }
  publish(
    boardOf(MINUTE + 1, ['BTC', 'ETH'], {
      todayRows: new Map(Object.entries(todayRows)),
      revisions: new Map([['BTC', 1]]),
    }),
  )
  await eventually('fewer samples today', () => rowsOf(365).length === 1)
  t.match(rowsOf(365), [{ samples: 1 }])
  await eventually('a lost revision', () => rowsOf(365, 'ETH').length === 1)
})

t.test('at midnight yesterday stays as it was until it can be read, once more, and today begins', async t => {
  const days = [...daysBefore('2026-11-20', 2), dayOf('2026-11-20', 786)]
  const app = await openHistory(t, days)
  const { reader, publish, rowsOf } = app
  const samples = () => rowsOf(2).map((row: { date: string; samples: number }) => [row.date, row.samples])
  const midnight = MINUTE - 785 + 1_440
  const mend = failDays(app)
  publish(boardOf(midnight))
  await eventually('today', () => rowsOf(3_650).length === 4)
  t.strictSame(samples().join(), '2026-11-20,786,2026-11-21,1')
  mend()
  reader.days.set('BTC', [...daysBefore('2026-11-21', 3), dayOf('2026-11-21', 2)])
  for (const minute of [midnight + 1, midnight + 2]) {
    publish(boardOf(minute))
    await eventually('today', () => rowsOf(1)[0].samples === minute - midnight + 1)
  }
  t.strictSame(samples()[0], ['2026-11-20', 1_440])
  t.equal(reader.daysRead.length, 3, 'at first, in vain, and once more')
})

// docs/faults.md, 51
t.test('any number of days has a tag of its own, and nothing is kept of it', async t => {
  const { documents, reader } = await openHistory(t, daysBefore('2026-11-20', 2_000))
  const tags = new Set<string>()
  for (let days = 1; days <= 2_001; days++) tags.add(documents.history('BTC', days)?.tag ?? '')
  t.equal(tags.size, 2_001)
  t.not(documents.history('BTC', 8), documents.history('BTC', 8))
  t.equal(reader.daysRead.length, 1)
})

t.test('nobody waits longer than a second for a Redis that does not answer', async t => {
  const { documents, reader, clock } = await openTestApp(t)
  reader.hold()
  let waited = false
  const waiting = documents.load('BTC').then(() => {
    waited = true
  })
  await clock.advance(999)
  t.equal(waited, false)
  await clock.advance(1)
  await waiting
  t.equal(documents.history('BTC', 365), undefined)
})

/** Runs everything that waits for no timer. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}
