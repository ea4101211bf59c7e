import { type Coin, createLatestTicks, createSpikeFilter, MINUTE_MS, minuteOf, type Tick } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import type { SampleBatch } from '@kimchi/store'
import t, { type Test } from 'tap'
import { createMinuteLoop, type MinuteReport } from '../../src/minute/minute-loop.ts'

const START = Date.UTC(2026, 10, 20, 12)
const M = minuteOf(START)
const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }

/** A running loop, and exchanges that say what the test wants. */
function start(t: Test) {
  const clock = createManualClock(START)
  const latest = createLatestTicks()
  const ending = new AbortController()
  const stored: SampleBatch[] = []
  const reports: MinuteReport[] = []
  const loop = createMinuteLoop(
    {
      latest,
      quarantine: { subscribed: [BTC], check: (_minute, samples) => samples },
      spikeFilter: createSpikeFilter(),
      queue: { enqueue: batch => stored.push(batch) },
      tracking: { apply: () => {} },
      onMinute: report => reports.push(report),
    },
    { clock, signal: ending.signal },
  )
  const running = loop.run()
  t.teardown(async () => {
    ending.abort()
    await running
  })
  const tick = (exchange: Tick['exchange'], market: string, price: number, tradable = true) => {
    const now = clock.now()
    latest.record({
      exchange,
      market,
      price,
      eventAt: now,
      receivedAt: now,
      origin: 'stream',
      tradedAt: now,
      tradable,
    })
  }
  const trade = (krw: number, tradable = true) => {
    tick('upbit', 'KRW-BTC', krw, tradable)
    tick('upbit', 'KRW-USDT', 1_400)
    tick('binance', 'BTCUSDT', 100_000)
  }
  return { clock, stored, reports, trade }
}

t.test('hands each minute’s sample to the store one second after the minute', async t => {
  const { clock, stored, trade } = start(t)
  await clock.advance(30_000)
  trade(141_400_000)
  await clock.advance(30_999)
  t.equal(stored.length, 0)
  await clock.advance(1)
  t.match(stored, [
    { minute: M + 1, samples: [{ symbol: 'BTC', minute: M + 1, premiumE4: 10_000, source: 'live' }] },
  ])
})

t.test('a minute in which an exchange was silent is a gap with a reason, and nothing is stored', async t => {
  const { clock, stored, reports, trade } = start(t)
  await clock.advance(30_000)
  trade(141_400_000)
  await clock.advance(2 * MINUTE_MS)
  t.equal(stored.length, 1)
  t.match(
    reports.find(report => report.turn.minute === M + 2),
    { gaps: [{ symbol: 'BTC', minute: M + 2, reason: 'upbit-down' }], admitted: [] },
  )
})

t.test('a spike of one minute never reaches the store, a jump that stays does with both minutes', async t => {
  const { clock, stored, reports, trade } = start(t)
  for (const krw of [141_400_000, 1_414_000_000, 141_500_000, 175_000_000, 175_100_000]) {
    await clock.advance(30_000)
    trade(krw)
    await clock.advance(30_000)
  }
  await clock.advance(1_000)
  t.strictSame(
    stored.flatMap(({ samples }) => samples.map(sample => [sample.minute - M, sample.upbitKrw])),
    [
      [1, 141_400_000],
      [3, 141_500_000],
      [4, 175_000_000],
      [5, 175_100_000],
    ],
  )
  t.match(
    reports.find(report => report.turn.minute === M + 3),
    { dropped: [{ minute: M + 2 }] },
  )
})

t.test('a minute taken seconds too late is a gap, not a guess', async t => {
  const { clock, stored, reports, trade } = start(t)
  await clock.advance(59_500)
  trade(141_400_000)
  clock.step(8_000)
  await clock.advance(1_000)
  t.equal(stored.length, 0)
  t.match(reports.at(-1), { turn: { minute: M + 1 }, gaps: [{ reason: 'late' }] })
})

t.test('a halted coin leaves the live list at the next minute', async t => {
  const { clock, stored, trade } = start(t)
  await clock.advance(30_000)
  trade(141_400_000)
  await clock.advance(MINUTE_MS)
  trade(141_400_000, false)
  await clock.advance(MINUTE_MS)
  t.match(stored[1], { minute: M + 2, samples: [], removed: ['BTC'] })
})

t.test(
  'a clock stepped forward just before a minute turn makes that minute a gap, and the next one a sample',
  async t => {
    const { clock, stored, reports, trade } = start(t)
    await clock.advance(50_000)
    trade(141_400_000)
    clock.step(10_000)
    await clock.advance(2_000)
    t.match(reports.at(-1), { turn: { minute: M + 1 }, gaps: [{ reason: 'late' }] })
    await clock.advance(30_000)
    trade(141_400_000)
    await clock.advance(30_000)
    t.match(stored, [{ minute: M + 2 }])
  },
)
