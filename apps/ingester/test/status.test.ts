import { minuteOf } from '@kimchi/core'
import t from 'tap'
import { statusFields } from '../src/figures.ts'
import { type IngesterStatus, notesOf, notReadyReasons } from '../src/status.ts'

const NOW = Date.UTC(2026, 10, 20, 12)

const textsOf = (status: IngesterStatus) => notReadyReasons(status).map(({ text }) => text)

/** An ingester that contributes, as far as its feeds go. */
function statusWith(changes: object): IngesterStatus {
  const feed = {
    exchange: 'binance',
    state: 'up',
    lastDataAt: NOW - 200,
    watermark: NOW - 250,
    statusAt: NOW - 60_000,
    statusFailures: 4,
    attempts: 2,
    silences: 1,
    halted: ['SOLUSDT'],
    refusedTicks: 4,
    base: {
      exchange: 'binance',
      of: 'stream',
      inUse: 'wss://b',
      index: 1,
      left: [{ base: 'wss://a', reason: 'HTTP 451' }],
    },
  }
  const status = {
    at: NOW,
    startedAt: NOW,
    catalogue: { coins: 1, missing: [], problem: undefined },
    quarantine: { tracked: 1, quarantined: [], denied: [] },
    feeds: { feeds: [{ ...feed, ...changes }], restBases: [] },
    minutes: { last: { turn: { minute: minuteOf(NOW) }, gaps: [], accepted: [{}] }, gaps: {} },
    queue: { waiting: 0, problem: undefined, damaged: [], totals: {} },
    backfill: { waiting: [], candleRequests: [] },
    mending: { mended: 0, differing: 0 },
  }
  return status as unknown as IngesterStatus
}

t.test('a trading status older than five minutes is a reason not to be ready', async t => {
  t.strictSame(textsOf(statusWith({})), [])
  t.strictSame(textsOf(statusWith({ statusAt: NOW - 300_000 })), [])
  t.strictSame(textsOf(statusWith({ statusAt: NOW - 360_000 })), [
    'binance: which markets trade has not been known for 6 minutes',
  ])
})

t.test('the address in use is a note, and stands in the status', async t => {
  t.strictSame(notesOf(statusWith({})), ['binance stream: wss://b is in use instead of wss://a (HTTP 451)'])
  t.match(statusFields(statusWith({})), {
    binance_stream_base: 'wss://b',
    binance_refused_ticks: 4,
  })
})

t.test('an error that is over is no reason, and stays in the status', async t => {
  const errorAt = (at: number) => ({ lastError: { message: 'no answer', at } })
  const stale = { statusAt: NOW - 360_000 }
  const reasonOf = (changes: object) => textsOf(statusWith(changes)).join()
  t.match(reasonOf({ ...stale, ...errorAt(NOW - 300_000) }), /for 6 minutes: no answer$/)
  t.match(reasonOf({ ...stale, ...errorAt(NOW - 420_000) }), /for 6 minutes$/)
  t.match(reasonOf({ state: 'waiting', ...errorAt(NOW - 100) }), /no data \(waiting\): no answer$/)
  t.match(reasonOf({ state: 'connecting', ...errorAt(NOW - 300) }), /no data \(connecting\)$/)
  t.match(reasonOf({ state: 'connecting', lastDataAt: undefined, ...errorAt(NOW) }), /: no answer$/)
  const { binance_last_error } = statusFields(statusWith(errorAt(NOW - 420_000)))
  t.equal(binance_last_error, 'no answer (2026-11-20T11:53:00.000Z)')
})

t.test('the status shows ages, the watermark, and what is halted', async t => {
  t.match(statusFields(statusWith({})), {
    binance_data_age_ms: '200',
    binance_watermark_age_ms: '250',
    binance_status_age_ms: '60000',
    binance_status_failures: '4',
    binance_attempts: '2',
    binance_silences: '1',
    binance_halted: 'SOLUSDT',
  })
})

t.test('a loop that stands still is a reason not to be ready', async t => {
  const at = (now: number) => notReadyReasons({ ...statusWith({ statusAt: now, lastDataAt: now }), at: now })
  t.strictSame(at(NOW + 180_000), [])
  t.strictSame(at(NOW + 181_000), [
    { reason: 'no-minute', text: 'no minute has turned since 2026-11-20T12:00:00' },
  ])
})
