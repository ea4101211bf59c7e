import { type Coin, type Exchange, LatestTicks, minuteOf } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { createMemoryLog } from '@kimchi/testkit'
import t from 'tap'
import { MinuteLoop, type MinuteReport } from '../../src/minute/minute-loop.ts'

const START = Date.UTC(2026, 10, 20, 12)
const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
const STEP_MS = 250
const BLOCKED_MS = 500
/** No frame comes in this time after the end of a minute. */
const QUIET_MS = 2_750

t.test('an event loop blocked for 500 ms at any second loses no minute', async t => {
  const clock = createManualClock(START)
  const latest = new LatestTicks()
  const reports: MinuteReport[] = []
  let unblocked = Promise.resolve()
  /** Timers that are due in a block fire after it. */
  const wait = async (ms: number, signal?: AbortSignal) => {
    await clock.wait(ms, signal)
    await unblocked
  }
  const ending = new AbortController()
  const running = new MinuteLoop(
    {
      latest,
      quarantine: { subscribed: [BTC], judgeMinute: samples => samples },
      queue: { enqueue: () => {} },
      onMinute: report => reports.push(report),
    },
    {
      clock: { now: () => clock.now(), elapsed: () => clock.elapsed(), wait },
      signal: ending.signal,
      log: createMemoryLog(),
    },
  ).run()
  const record = (exchange: Exchange, market: string, price: number, eventAt: number) =>
    latest.record({
      ...{ exchange, market, price, eventAt, sentAt: eventAt, tradedAt: eventAt },
      ...{ receivedAt: clock.now(), origin: 'stream', tradable: true },
    })
  let sent: number[] = []
  let unblock = () => {}
  for (let at = START; at < START + 61 * 60_000; at += STEP_MS) {
    const [minute, ms] = [Math.floor((at - START) / 60_000), at % 60_000]
    if (minute === 0 || ms >= QUIET_MS) sent.push(at)
    // The block of each minute begins a second later than that of the minute before.
    const blockedMs = ms - minute * 1_000
    const isBlocked = blockedMs >= 0 && blockedMs < BLOCKED_MS
    if (blockedMs === 0) {
      unblocked = new Promise(resolve => {
        unblock = resolve
      })
    }
    if (!isBlocked) {
      for (const eventAt of sent) {
        record('upbit', 'KRW-BTC', 141_400_000, eventAt)
        record('upbit', 'KRW-USDT', 1_400, eventAt)
        record('binance', 'BTCUSDT', 100_000, eventAt)
      }
      sent = []
      unblock()
    }
    await clock.advance(STEP_MS)
  }
  ending.abort()
  unblock()
  await running
  t.strictSame(
    reports
      .slice(1)
      .flatMap(({ turn, gaps }) => gaps.map(({ reason }) => [turn.minute - minuteOf(START), reason])),
    [],
  )
  t.ok(reports.length >= 58, `${reports.length} minutes`)
})
