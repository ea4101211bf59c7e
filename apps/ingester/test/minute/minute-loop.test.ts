import { type Exchange, HOUR_MS, LatestTicks, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import type { SampleBatch } from '@kimchi/store'
import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { MinuteLoop, type MinuteReport, minuteTurns } from '../../src/minute/minute-loop.ts'
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
  t.match(stored, [{ minute: M + 1, samples: [{ minute: M + 1, premiumE4: 10_000, source: 'live' }] }])
  t.strictSame(
    reports.map(({ minute, lateMs, gaps }) => [minute - M, lateMs, gaps[0]?.reason]),
    [
      [0, 50, 'upbit-down'],
      [1, 50, undefined],
      [2, 3_000, 'behind'],
      [3, 3_000, 'upbit-down'],
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

/** The minutes whose turn comes, and when it does. */
function collect(t: Test, startedAt: number, isComplete = (_minute: number, _now: number) => true) {
  const clock = createManualClock(startedAt)
  const ending = new AbortController()
  const turns: { minute: number; at: number }[] = []
  const running = (async () => {
    const { signal } = ending
    const silent = { upbitUp: false, binanceUp: false, upbit: new Map(), binance: new Map() }
    const known = { ...silent, isSkewed: false }
    const before = (minute: number) => ({ ...known, minute, hasPassed: isComplete(minute, clock.now()) })
    for await (const { minute } of minuteTurns({ before }, { clock, signal })) {
      turns.push({ minute, at: clock.now() })
    }
  })()
  t.teardown(async () => {
    ending.abort()
    await running
  })
  return { clock, turns, ending, running }
}

t.test('each minute turns once, two seconds after its boundary', async t => {
  const { clock, turns } = collect(t, START + 30_000)
  await clock.advance(3 * MINUTE_MS)
  t.strictSame(
    turns.map(turn => turn.at - START),
    [62_000, 122_000, 182_000],
  )
  t.strictSame(
    turns.map(({ minute }) => minute - M),
    [1, 2, 3],
  )
})

t.test('a minute that is not complete waits until it is, for three seconds at most', async t => {
  const completeAt = new Map([1, 2, 3].map((minute, at) => [M + minute, [2_700, 5_100, 0][at]]))
  const { clock, turns } = collect(
    t,
    START + 30_000,
    (minute, now) => now >= minuteStart(minute) + (completeAt.get(minute) ?? 0),
  )
  await clock.advance(3 * MINUTE_MS)
  t.strictSame(
    turns.map(({ at }) => at - START),
    [62_700, 125_000, 182_000],
  )
})

t.test('a start within the first seconds still gets the minute that has just ended', async t => {
  const { clock, turns } = collect(t, START + 400)
  await clock.advance(2_000)
  t.equal(turns[0]?.minute, M)
})

t.test('a clock that steps forward an hour passes over the minutes in between', async t => {
  const { clock, turns } = collect(t, START + 30_000)
  await clock.advance(MINUTE_MS)
  clock.step(HOUR_MS)
  await clock.advance(MINUTE_MS)
  t.equal(turns.length, 3)
  t.strictSame(
    turns.map(({ minute }) => minute - M),
    [1, 61, 62],
  )
})

t.test('a clock that steps back 90 s goes on from where it stands', async t => {
  const { clock, turns } = collect(t, START + 30_000)
  await clock.advance(3 * MINUTE_MS)
  clock.step(-90_000)
  await clock.advance(2.5 * MINUTE_MS)
  t.match(
    turns.map(turn => turn.minute - M),
    [1, 2, 3, 2, 3, 4],
    'a minute that comes again is written again, which the store takes once',
  )
})

t.test('ends at once when aborted in the middle of a minute, or of the wait for its streams', async t => {
  for (const passedMs of [5_000, 32_500]) {
    const { clock, ending, running, turns } = collect(t, START + 30_000, () => false)
    await clock.advance(passedMs)
    ending.abort()
    await running
    t.equal(turns.length, 0)
    t.equal(clock.waiting, 0, 'no timer is left')
  }
})
