import { type Exchange, LatestTicks, MINUTE_MS, minuteOf } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import type { SampleBatch } from '@kimchi/store'
import { createMemoryLog } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { MinuteLoop, type MinuteReport } from '../../src/minute/minute-loop.ts'
import { coinOf } from '../support/market.ts'

const START = Date.UTC(2026, 10, 20, 12)
const M = minuteOf(START)
const BTC = coinOf('BTC')

/** A running loop, and exchanges that say what the test wants. */
function start(t: Test) {
  const clock = createManualClock(START)
  const latest = new LatestTicks()
  const ending = new AbortController()
  const stored: SampleBatch[] = []
  const reports: MinuteReport[] = []
  const loop = new MinuteLoop(
    {
      latest,
      quarantine: { subscribed: [BTC], judgeMinute: samples => samples },
      queue: { enqueue: batch => stored.push(batch) },
      onMinute: report => reports.push(report),
    },
    { clock, signal: ending.signal, log: createMemoryLog() },
  )
  const running = loop.run()
  t.teardown(async () => {
    ending.abort()
    await running
  })
  const tick = (exchange: Exchange, market: string, price: number, tradable = true) => {
    const now = clock.now()
    latest.record({
      exchange,
      market,
      price,
      eventAt: now,
      sentAt: now,
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
  /** Lets time pass while other markets trade on these exchanges. */
  const pass = async (ms: number, exchanges: readonly Exchange[] = ['upbit', 'binance']) => {
    for (let passed = 0; passed < ms; passed += 500) {
      for (const exchange of exchanges) tick(exchange, 'OTHER', 1)
      await clock.advance(Math.min(500, ms - passed))
    }
  }
  return { clock, stored, reports, trade, pass }
}

t.test('hands each minute’s sample to the store two seconds after the minute', async t => {
  const { stored, trade, pass } = start(t)
  await pass(30_000)
  trade(141_400_000)
  await pass(31_999)
  t.equal(stored.length, 0)
  await pass(1)
  t.match(stored, [
    { minute: M + 1, samples: [{ symbol: 'BTC', minute: M + 1, premiumE4: 10_000, source: 'live' }] },
  ])
})

// docs/faults.md, 85
t.test('a pause of 2.4 s at any second of a minute costs no minute whose turn it does not hide', async t => {
  for (let second = 0; second < 60; second++) {
    const { clock, stored, trade, pass } = start(t)
    await pass(second * 1_000)
    if (second < 50) trade(141_400_000)
    clock.pause(2_400)
    trade(141_400_000)
    await pass(MINUTE_MS - (clock.now() % MINUTE_MS))
    await pass(4_000)
    t.equal(stored.length, 1, `at :${second}`)
  }
})

// docs/faults.md, 21
t.test('a minute in which an exchange was silent is a gap with a reason, and nothing is stored', async t => {
  const { stored, reports, trade, pass } = start(t)
  await pass(30_000)
  trade(141_400_000)
  await pass(MINUTE_MS)
  await pass(2 * MINUTE_MS, ['binance'])
  t.equal(stored.length, 1)
  t.strictSame(
    reports.map(({ minute, gaps }) => [minute - M, gaps[0]?.reason]),
    [
      [0, 'upbit-down'],
      [1, undefined],
      [2, 'behind'],
      [3, 'upbit-down'],
    ],
  )
})

t.test(
  'a halted coin leaves the live list at the next minute; minutes without a trade are settled',
  async t => {
    const { stored, trade, pass } = start(t)
    await pass(30_000)
    trade(141_400_000)
    await pass(MINUTE_MS)
    trade(141_400_000, false)
    await pass(MINUTE_MS)
    t.match(stored[1], { minute: M + 2, samples: [], halted: ['BTC'] })
    t.strictSame(stored[1]?.settled, [], 'it traded in this one')
    await pass(MINUTE_MS)
    t.match(stored[2], {
      minute: M + 3,
      samples: [],
      settled: [{ symbol: 'BTC', minute: M + 3, reason: 'halted' }],
      halted: ['BTC'],
    })
  },
)
