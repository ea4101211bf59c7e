import t from 'tap'
import { notesOf, notReadyReasons } from '../src/readiness.ts'
import type { IngesterStatus } from '../src/status.ts'
import { NOW, statusWith } from './support/ingester-status.ts'

const textsOf = (status: IngesterStatus) => notReadyReasons(status).map(({ text }) => text)

t.test('a trading status older than five minutes is a reason not to be ready', async t => {
  t.strictSame(textsOf(statusWith({})), [])
  t.strictSame(textsOf(statusWith({ statusAt: NOW - 300_000 })), [])
  t.strictSame(textsOf(statusWith({ statusAt: NOW - 360_000 })), [
    'binance: which markets trade has not been known for 6 minutes',
  ])
})

t.test('another address than the first is a note', async t => {
  t.strictSame(notesOf(statusWith({})), ['binance stream: wss://b is in use instead of wss://a (HTTP 451)'])
})

// docs/faults.md, 60
t.test('a subscription that is refused while another one goes on is a note', async t => {
  const held = { reason: 'upbit error frame: INVALID_PARAM', until: NOW, isBlocked: false }
  const base = { exchange: 'upbit', of: 'stream', index: 0, left: [], waiting: 1, held }
  t.strictSame(notesOf(statusWith({ exchange: 'upbit', base })), [
    `upbit stream: 1 requests wait until 2026-11-20T12:00:00.000Z: ${held.reason}`,
  ])
})

// docs/faults.md, 103
t.test('a market whose candles cannot be read is a note', async t => {
  const reason = 'upbit candles of KRW-ADA: the response is no list of candles'
  const status = statusWith({ base: {} })
  const unreadable = { pages: { upbit: 2, binance: 0 }, reasons: [reason] }
  const withMarket = { ...status, backfill: { ...status.backfill, unreadable } } as IngesterStatus
  t.strictSame(notesOf(withMarket), [`minutes stay open: ${reason}`])
})

t.test('an error that is over is no reason', async t => {
  const errorAt = (at: number) => ({ lastError: { message: 'no answer', at } })
  const stale = { statusAt: NOW - 360_000 }
  const reasonOf = (changes: object) => textsOf(statusWith(changes)).join()
  t.match(reasonOf({ ...stale, ...errorAt(NOW - 300_000) }), /for 6 minutes: no answer$/)
  t.match(reasonOf({ ...stale, ...errorAt(NOW - 420_000) }), /for 6 minutes$/)
  t.match(reasonOf({ state: 'waiting', ...errorAt(NOW - 100) }), /no data \(waiting\): no answer$/)
  t.match(reasonOf({ state: 'connecting', ...errorAt(NOW - 300) }), /no data \(connecting\)$/)
  t.match(reasonOf({ state: 'connecting', lastDataAt: undefined, ...errorAt(NOW) }), /: no answer$/)
})

// docs/faults.md, 9
t.test(
  'minutes that Redis does not take are a reason not to be ready, which tells outages from refusals',
  async t => {
    const status = statusWith({})
    const waiting = (problem: string, isRefused: boolean) =>
      notReadyReasons({ ...status, queue: { ...status.queue, waiting: 2, problem, isRefused } })
    const text = '2 minutes wait to be written: MISCONF'
    t.strictSame(waiting('MISCONF', false), [{ reason: 'redis', text }])
    t.strictSame(waiting('MISCONF', true), [{ reason: 'redis-refuses', text }])
  },
)

t.test('a loop that stands still is a reason not to be ready', async t => {
  const at = (now: number) => notReadyReasons({ ...statusWith({ statusAt: now, lastDataAt: now }), at: now })
  t.strictSame(at(NOW + 180_000), [])
  t.strictSame(at(NOW + 181_000), [
    { reason: 'no-minute', text: 'no minute has turned since 2026-11-20T12:00:00' },
  ])
})

// docs/faults.md, 97
t.test('a market whose frames cannot be read for two minutes is named, until two minutes after', async t => {
  const named = (since: number, lastAt: number, isOver = false) =>
    textsOf(
      statusWith({
        missed: [{ market: 'ADAUSDT', count: 7, since: NOW - since, lastAt: NOW - lastAt, isOver }],
      }),
    )
  t.strictSame(named(119_000, 0), [])
  t.match(named(120_000, 0), [/^ADAUSDT: .* 7 frames in 2 minutes/])
  t.match(named(120_000, 120_000), [/^ADAUSDT: /], 'one frame, and nothing since')
  t.match(named(200_000, 30_000, true), [/^ADAUSDT: /], 'good frames come in between')
  t.strictSame(named(200_000, 120_000, true), [], 'it is over')
  t.strictSame(named(200_000, 190_000, true), [], 'it was short')
})
