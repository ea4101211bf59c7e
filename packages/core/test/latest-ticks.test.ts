import fc from 'fast-check'
import t from 'tap'
import { createLatestTicks, type LatestTicks, minuteOf, type Tick } from '../src/index.ts'
import { at, binanceTick, M, seed, upbitTick } from './ticks.ts'

const BTC = 'KRW-BTC'
const USDT = 'BTCUSDT'

function record(...ticks: readonly Tick[]): LatestTicks {
  const latest = createLatestTicks()
  for (const tick of ticks) latest.record(tick)
  return latest
}

function priceBefore(latest: LatestTicks, minute: number, market = BTC): number | undefined {
  return latest.before(market === BTC ? 'upbit' : 'binance', market, minute)?.price
}

t.test('the last price before M is the one at :59.999, never the one at :00.000', async t => {
  const ticks = [
    upbitTick(BTC, 1, at(-30)),
    upbitTick(BTC, 2, at(-0.001)),
    upbitTick(BTC, 3, at(0)),
    upbitTick(BTC, 4, at(0.5)),
  ]
  for (const order of [ticks, ticks.toReversed()]) {
    const latest = record(...order)
    t.equal(priceBefore(latest, M), 2)
    t.equal(priceBefore(latest, M + 1), 4)
  }
})

t.test('an older tick never replaces a newer one', async t => {
  const latest = record(upbitTick(BTC, 2, at(-10)), upbitTick(BTC, 1, at(-20), { receivedAt: at(-1) }))
  t.equal(priceBefore(latest, M), 2)
})

t.test('a late frame that belongs before M still counts after M', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)), upbitTick(BTC, 3, at(0.2)))
  t.equal(priceBefore(latest, M), 1)
  latest.record(upbitTick(BTC, 2, at(-0.3), { receivedAt: at(0.9) }))
  t.equal(priceBefore(latest, M), 2)
  t.equal(priceBefore(latest, M + 1), 3)
})

t.test('of two ticks with the same event time the one received later counts', async t => {
  const first = upbitTick(BTC, 1, at(-5), { receivedAt: at(-4.9) })
  const second = upbitTick(BTC, 2, at(-5), { receivedAt: at(-4.8) })
  t.equal(priceBefore(record(first, second), M), 2)
  t.equal(priceBefore(record(second, first), M), 2)
  const sameInstant = upbitTick(BTC, 3, at(-5), { receivedAt: at(-4.8) })
  t.equal(priceBefore(record(second, sameInstant), M), 3, 'the later recorded when both times are equal')
})

t.test('any order and repetition of ticks gives the same answers as sorting all of them', async () => {
  const tick = fc
    .record({ seconds: fc.integer({ min: -179, max: -1 }), delay: fc.integer({ min: 0, max: 2 }) })
    .map(({ seconds, delay }) =>
      // The price names the tick, so that equal ticks are repetitions.
      upbitTick(BTC, 1_000_000 + seconds * 10 + delay, at(seconds), { receivedAt: at(seconds + delay) }),
    )
  fc.assert(
    fc.property(fc.array(tick, { maxLength: 40 }), ticks => {
      const latest = record(...ticks)
      return [M, M - 1, M - 2, M - 3].every(minute => {
        const before = ticks.filter(({ eventAt }) => minuteOf(eventAt) < minute)
        before.sort((a, b) => a.eventAt - b.eventAt || a.receivedAt - b.receivedAt)
        return priceBefore(latest, minute) === before.at(-1)?.price
      })
    }),
    { numRuns: 500 },
  )
})

t.test(
  'any order and repetition of frames, seeds and losses gives the answers of the definition',
  async () => {
    const seconds = fc.integer({ min: -175, max: -1 })
    const event = fc.record({ kind: fc.constantFrom('frame', 'seed', 'loss'), seconds })
    const shuffled = fc.array(event, { maxLength: 12 }).chain(events => {
      const twice = [...events, ...events]
      return fc.tuple(fc.constant(events), fc.shuffledSubarray(twice, { minLength: twice.length }))
    })
    fc.assert(
      fc.property(shuffled, ([events, repeated]) => {
        const latest = createLatestTicks()
        for (const { kind, seconds: second } of repeated) {
          if (kind === 'frame')
            latest.record(binanceTick(USDT, -second, at(second), { receivedAt: at(second) }))
          else if (kind === 'seed') latest.record(seed(USDT, 1_000 - second, at(second)))
          else latest.lost('binance', at(second))
        }
        const newest = (kind: string, minute: number) =>
          Math.max(
            ...events
              .filter(found => found.kind === kind && at(found.seconds) < at(0, minute))
              .map(found => found.seconds),
          )
        return [M, M - 1, M - 2].every(minute => {
          const lost = newest('loss', minute)
          const frame = newest('frame', minute)
          const seeded = newest('seed', minute)
          const expected = frame > lost ? -frame : seeded > lost ? 1_000 - seeded : undefined
          return priceBefore(latest, minute, USDT) === expected
        })
      }),
      { numRuns: 2_000 },
    )
  },
)

t.test('a market that never ticked, or only after M, is unknown', async t => {
  const latest = record(upbitTick(BTC, 1, at(1)))
  t.equal(latest.before('upbit', BTC, M), undefined)
  t.equal(latest.before('upbit', 'KRW-ETH', M + 1), undefined)
  t.equal(latest.before('binance', BTC, M + 1), undefined, 'exchanges are kept apart')
})

t.test('a quiet market keeps its last tick for as long as nothing newer comes', async t => {
  const latest = record(upbitTick(BTC, 1, at(0, M - 50)))
  for (let minute = M - 40; minute < M; minute++) latest.record(upbitTick('KRW-ETH', 7, at(30, minute)))
  t.equal(priceBefore(latest, M), 1)
})

t.test('what was forgotten is unknown, never a guess', async t => {
  const latest = record(seed(USDT, 9, at(-600)))
  for (const seconds of [-170, -110, -50, 10]) latest.record(binanceTick(USDT, -seconds, at(seconds)))
  t.equal(priceBefore(latest, M + 1, USDT), -10)
  t.equal(priceBefore(latest, M, USDT), 50)
  t.equal(priceBefore(latest, M - 1, USDT), 110)
  t.equal(priceBefore(latest, M - 2, USDT), undefined, 'the frame is gone, and the seed is older still')
})

t.test('a tick older than all that are kept changes nothing', async t => {
  const latest = record(...[-130, -70, -10].map(seconds => upbitTick(BTC, -seconds, at(seconds))))
  latest.record(upbitTick(BTC, 999, at(-300), { receivedAt: at(-1) }))
  t.strictSame(
    [M, M - 1, M - 2, M - 3].map(minute => priceBefore(latest, minute)),
    [10, 70, 130, undefined],
  )
})

t.test('a forgotten market is unknown until it ticks again', async t => {
  const latest = record(upbitTick(BTC, 1, at(-5)))
  latest.forget('upbit', BTC)
  latest.forget('upbit', 'KRW-NEVER')
  t.equal(priceBefore(latest, M), undefined)
  latest.record(upbitTick(BTC, 2, at(-4)))
  t.equal(priceBefore(latest, M), 2)
})

t.test('a seed answers until the first frame, and never again', async t => {
  const latest = record(seed(USDT, 1, at(-70)))
  t.equal(priceBefore(latest, M, USDT), 1)
  latest.record(seed(USDT, 2, at(-40)))
  t.equal(priceBefore(latest, M, USDT), 2, 'a newer seed replaces an older one')
  latest.record(seed(USDT, 1, at(-70)))
  t.equal(priceBefore(latest, M, USDT), 2)
  latest.record(binanceTick(USDT, 3, at(-65), { receivedAt: at(-30) }))
  t.equal(priceBefore(latest, M, USDT), 3, 'although the seed was received in a later minute than the event')
  latest.record(seed(USDT, 4, at(-1)))
  t.equal(priceBefore(latest, M, USDT), 3)
})

t.test('a seed received after M says nothing about M', async t => {
  t.equal(priceBefore(record(seed(USDT, 1, at(0.2))), M, USDT), undefined)
})

t.test(
  'after a loss, prices received before it are unknown for later minutes and known for earlier',
  async t => {
    const latest = record(upbitTick(BTC, 1, at(-70)), upbitTick(BTC, 2, at(-20)))
    latest.lost('upbit', at(-10))
    t.equal(priceBefore(latest, M), undefined)
    t.equal(priceBefore(latest, M - 1), 1)
    latest.record(upbitTick(BTC, 3, at(-9), { receivedAt: at(-2) }))
    t.equal(priceBefore(latest, M), 3)
  },
)

t.test('a loss exactly at M or after it leaves M known', async t => {
  for (const seconds of [0, 0.4]) {
    const latest = record(upbitTick(BTC, 1, at(-5)))
    latest.lost('upbit', at(seconds))
    t.equal(priceBefore(latest, M), 1)
    t.equal(priceBefore(latest, M + 1), undefined)
  }
})

t.test('the snapshot after a reconnect brings an old trade back to life', async t => {
  const latest = record(upbitTick(BTC, 1, at(-600)))
  latest.lost('upbit', at(-30))
  t.equal(priceBefore(latest, M), undefined)
  latest.record(upbitTick(BTC, 1, at(-600), { receivedAt: at(-20), origin: 'snapshot' }))
  t.match(latest.before('upbit', BTC, M), { price: 1, eventAt: at(-600) })
})

t.test('a price from before an earlier loss stays unknown when a second loss follows after M', async t => {
  const latest = record(upbitTick(BTC, 1, at(-50)))
  latest.lost('upbit', at(-30))
  latest.lost('upbit', at(0.5))
  t.equal(priceBefore(latest, M), undefined)
})

t.test('losses reported out of order do not undo each other', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)))
  latest.lost('upbit', at(-10))
  latest.lost('upbit', at(-40))
  t.equal(priceBefore(latest, M), undefined)
})

t.test('after losses in many minutes an old minute is unknown rather than trusted', async t => {
  const latest = record(upbitTick(BTC, 1, at(-590)))
  for (const seconds of [-500, -170, -110, -50]) latest.lost('upbit', at(seconds))
  t.equal(priceBefore(latest, M - 4), undefined)
  t.equal(priceBefore(latest, M), undefined)
})

t.test('after a loss a fresh seed counts instead of a frame from before it', async t => {
  const latest = record(binanceTick(USDT, 1, at(-50)))
  latest.lost('binance', at(-40))
  latest.record(seed(USDT, 2, at(-30)))
  t.equal(priceBefore(latest, M, USDT), 2)
  latest.record(binanceTick(USDT, 3, at(-29)))
  t.equal(priceBefore(latest, M, USDT), 3)
})

t.test('after a loss an old seed is unknown too', async t => {
  const latest = record(seed(USDT, 1, at(-50)))
  latest.lost('binance', at(-40))
  t.equal(priceBefore(latest, M, USDT), undefined)
})

t.test('the loss of one exchange does not touch the other', async t => {
  const latest = record(binanceTick(USDT, 1, at(-50)), upbitTick(BTC, 2, at(-50)))
  latest.lost('upbit', at(-40))
  t.equal(priceBefore(latest, M, USDT), 1)
  t.equal(priceBefore(latest, M), undefined)
})

t.test(
  'a tick from more than a minute in the future is refused, and what it overtook is no longer the last price',
  async t => {
    const latest = record(upbitTick(BTC, 1, at(-5)))
    const receivedAt = at(-4)
    t.equal(latest.record(upbitTick(BTC, 2, receivedAt + 60_001, { receivedAt })), false)
    t.equal(latest.record(upbitTick(BTC, 2, at(-3), { receivedAt, tradedAt: at(6_000) })), false)
    t.equal(latest.record(upbitTick(BTC, 2, Number.NaN, { receivedAt })), false)
    t.equal(latest.record(upbitTick(BTC, 2, at(-3), { receivedAt, tradedAt: Number.NaN })), false)
    t.equal(priceBefore(latest, M + 200), undefined)
    t.equal(latest.tradedBefore('upbit', M + 101), false)
    t.equal(
      latest.record(upbitTick(BTC, 3, receivedAt + 60_000, { receivedAt })),
      true,
      'a minute ahead is allowed',
    )
  },
)

t.test('ticks from the near future do not push out what the next snapshots need', async t => {
  const latest = createLatestTicks()
  for (let seconds = -300; seconds < 0; seconds += 10) {
    const receivedAt = at(seconds)
    latest.record(upbitTick(BTC, -seconds, receivedAt, { receivedAt }))
    latest.record(upbitTick(BTC, 999, receivedAt + 60_000, { receivedAt }))
  }
  t.strictSame(
    [M - 1, M].map(minute => priceBefore(latest, minute)),
    [70, 10],
  )
  t.strictSame(
    [M - 1, M].map(minute => latest.tradedBefore('upbit', minute)),
    [true, true],
  )
})

t.test('knows the minutes in which an exchange traded, by event time', async t => {
  const latest = record(upbitTick(BTC, 1, at(-60)))
  t.equal(latest.tradedBefore('upbit', M), true, 'the first instant of the minute')
  t.equal(latest.tradedBefore('upbit', M + 1), false)
  t.equal(latest.tradedBefore('upbit', M - 1), false)
  t.equal(latest.tradedBefore('binance', M), false)
  latest.record(upbitTick('KRW-ETH', 1, at(-60.001), { receivedAt: at(1) }))
  t.equal(latest.tradedBefore('upbit', M - 1), true, 'any market, however late')
})

t.test('a snapshot, a seed and an unchanged price prove no trade', async t => {
  const latest = record(
    upbitTick(BTC, 1, at(-5), { origin: 'snapshot' }),
    seed(USDT, 1, at(-5)),
    binanceTick(USDT, 1, at(-4), { tradedAt: undefined }),
  )
  t.equal(latest.tradedBefore('upbit', M), false)
  t.equal(latest.tradedBefore('binance', M), false)
})

t.test('remembers the traded minutes that the next snapshots need, whatever the order', async () => {
  const minutes = fc.uniqueArray(fc.integer({ min: M - 10, max: M - 1 }), { minLength: 1 })
  fc.assert(
    fc.property(minutes, traded => {
      const latest = record(...traded.map(minute => upbitTick(BTC, 1, at(1, minute), { receivedAt: at(0) })))
      const newest = Math.max(...traded)
      return [newest - 2, newest - 1, newest].every(
        minute => latest.tradedBefore('upbit', minute + 1) === traded.includes(minute),
      )
    }),
  )
})

t.test('no skew while most ticks are within two seconds', async t => {
  const latest = record(
    upbitTick(BTC, 1, at(-9), { receivedAt: at(-7) }),
    upbitTick(BTC, 1, at(-6), { receivedAt: at(-8) }),
    upbitTick(BTC, 1, at(-50), { receivedAt: at(-5) }),
  )
  t.equal(latest.skewBefore('upbit', M), 'none', 'exactly two seconds is within')
  t.equal(latest.skewBefore('upbit', M - 1), 'none', 'nothing received')
})

t.test('skew is late or early when more than half of the ticks are', async t => {
  const lags = (...seconds: readonly number[]) =>
    record(...seconds.map(lag => upbitTick(BTC, 1, at(-30 - lag), { receivedAt: at(-30) })))
  t.equal(lags(2.001).skewBefore('upbit', M), 'late')
  t.equal(lags(-2.001).skewBefore('upbit', M), 'early')
  t.equal(lags(3, 0).skewBefore('upbit', M), 'none')
  t.equal(lags(3, 0, 3).skewBefore('upbit', M), 'late')
  t.equal(lags(-3, 0, -3).skewBefore('upbit', M), 'early')
  t.equal(lags(-3, 3).skewBefore('upbit', M), 'none')
  t.equal(lags(-3_600, -3_600).skewBefore('upbit', M), 'early', 'refused ticks are witnesses too')
  t.equal(lags(9).skewBefore('binance', M), 'none')
})

t.test('only stream frames testify about the clock, and only in the minute they were received', async t => {
  const receivedAt = at(-30)
  const latest = record(
    upbitTick(BTC, 1, at(-600), { receivedAt, origin: 'snapshot' }),
    upbitTick('KRW-ETH', 1, at(-600), { receivedAt, origin: 'snapshot' }),
    upbitTick(BTC, 1, at(-30.1), { receivedAt }),
  )
  t.equal(latest.skewBefore('upbit', M), 'none')
  latest.record(upbitTick(BTC, 1, at(20), { receivedAt: at(30) }))
  t.equal(latest.skewBefore('upbit', M), 'none')
  t.equal(latest.skewBefore('upbit', M + 1), 'late')
})

t.test('a clock that steps back into a minute resets its verdict', async t => {
  const latest = createLatestTicks()
  for (let seconds = -60; seconds < 20; seconds++) latest.record(upbitTick(BTC, 1, at(seconds)))
  latest.record(upbitTick(BTC, 1, at(20), { receivedAt: at(-40) }))
  t.equal(latest.skewBefore('upbit', M), 'early')
  for (const minute of [M + 1, M + 2, M + 3]) latest.record(upbitTick(BTC, 1, at(1, minute)))
  t.equal(latest.skewBefore('upbit', M), 'none', 'and is forgotten after three minutes')
})
