import fc from 'fast-check'
import t from 'tap'
import { LatestTicks, minuteOf, type Tick } from '../src/index.ts'
import { at, binanceTick, M, seed, silence, upbitTick } from './ticks.ts'

const BTC = 'KRW-BTC'
const USDT = 'BTCUSDT'

function record(...ticks: readonly Tick[]): LatestTicks {
  const latest = new LatestTicks()
  for (const tick of ticks) latest.record(tick)
  return latest
}

function priceBefore(latest: LatestTicks, minute: number, market = BTC): number | undefined {
  return latest.legBefore(market === BTC ? 'upbit' : 'binance', market, minute).price
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

t.test(
  'any order and repetition of ticks gives the same answers as sorting all of them, for the running minute and the one before',
  async () => {
    const tick = fc
      .record({ seconds: fc.integer({ min: -179, max: 59 }), delay: fc.integer({ min: 0, max: 2 }) })
      .map(({ seconds, delay }) =>
        // The price names the tick, so that equal ticks are repetitions.
        upbitTick(BTC, 1_000_000 + seconds * 10 + delay, at(seconds), { receivedAt: at(seconds + delay) }),
      )
    fc.assert(
      fc.property(fc.array(tick, { maxLength: 40 }), ticks => {
        const latest = record(...ticks)
        return [M + 1, M, M - 1].every(minute => {
          const before = ticks.filter(({ eventAt }) => minuteOf(eventAt) < minute)
          before.sort((a, b) => a.eventAt - b.eventAt || a.receivedAt - b.receivedAt)
          const price = priceBefore(latest, minute)
          return price === before.at(-1)?.price || (minute === M - 1 && price === undefined)
        })
      }),
      { numRuns: 500 },
    )
  },
)

t.test(
  'any order and repetition of frames, seeds and silences gives the answers of the definition',
  async () => {
    const seconds = fc.integer({ min: -175, max: -3 })
    const event = fc.record({ kind: fc.constantFrom('frame', 'seed', 'silence'), seconds })
    const shuffled = fc.array(event, { maxLength: 12 }).chain(events => {
      const twice = [...events, ...events]
      return fc.tuple(fc.constant(events), fc.shuffledSubarray(twice, { minLength: twice.length }))
    })
    fc.assert(
      fc.property(shuffled, ([events, repeated]) => {
        const latest = new LatestTicks()
        for (const { kind, seconds: second } of repeated) {
          if (kind === 'frame')
            latest.record(binanceTick(USDT, -second, at(second), { receivedAt: at(second) }))
          else if (kind === 'seed') latest.record(seed(USDT, 1_000 - second, at(second)))
        }
        const silences = events.filter(({ kind }) => kind === 'silence').map(({ seconds: end }) => end)
        for (const end of silences.sort((a, b) => a - b)) {
          latest.interrupted(silence('binance', end - 4, end))
        }
        const newest = (kind: string) =>
          Math.max(...events.filter(found => found.kind === kind).map(found => found.seconds))
        const [silent, frame, seeded] = [newest('silence'), newest('frame'), newest('seed')]
        const isFrameKnown = frame >= silent && (frame >= silent + 1 || seeded >= silent)
        const seedOrNothing =
          seeded >= silent && seeded > Number.NEGATIVE_INFINITY ? 1_000 - seeded : undefined
        const expected = isFrameKnown && Number.isFinite(frame) ? -frame : seedOrNothing
        return priceBefore(latest, M, USDT) === expected
      }),
      { numRuns: 2_000 },
    )
  },
)

t.test('a market that never ticked, or only after M, is unknown', async t => {
  const latest = record(upbitTick(BTC, 1, at(1)))
  t.equal(latest.legBefore('upbit', BTC, M).price, undefined)
  t.equal(latest.legBefore('upbit', 'KRW-ETH', M + 1).price, undefined)
  t.equal(latest.legBefore('binance', BTC, M + 1).price, undefined, 'exchanges are kept apart')
})

t.test('a quiet market keeps its last tick for as long as nothing newer comes', async t => {
  const latest = record(upbitTick(BTC, 1, at(0, M - 50)))
  for (let minute = M - 40; minute < M; minute++) latest.record(upbitTick('KRW-ETH', 7, at(30, minute)))
  t.equal(priceBefore(latest, M), 1)
})

t.test('what was forgotten is unknown, never a guess', async t => {
  const latest = record(seed(USDT, 9, at(-600)))
  for (const seconds of [-110, -50, 10]) latest.record(binanceTick(USDT, -seconds, at(seconds)))
  t.equal(priceBefore(latest, M + 1, USDT), -10)
  t.equal(priceBefore(latest, M, USDT), 50)
  t.equal(priceBefore(latest, M - 1, USDT), undefined, 'the frame is gone, and the seed is older still')
})

t.test('a tick older than all that are kept changes nothing', async t => {
  const latest = record(...[-70, -10].map(seconds => upbitTick(BTC, -seconds, at(seconds))))
  latest.record(upbitTick(BTC, 999, at(-300), { receivedAt: at(-1) }))
  t.strictSame(
    [M, M - 1, M - 2].map(minute => priceBefore(latest, minute)),
    [10, 70, undefined],
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
  'a seed received in the last second before M may know more than the last frame, and is not used',
  async t => {
    t.equal(priceBefore(record(seed(USDT, 1, at(-0.9))), M, USDT), undefined)
    t.equal(priceBefore(record(seed(USDT, 1, at(-1))), M, USDT), 1)
  },
)

t.test('prices received before a silence are unknown until a frame comes after it', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)), upbitTick(BTC, 2, at(-9.5)))
  latest.interrupted(silence('upbit', -9, -5))
  t.equal(priceBefore(latest, M), undefined)
  latest.record(upbitTick(BTC, 3, at(-3)))
  t.equal(priceBefore(latest, M), 3)
})

t.test(
  'right after a silence a frame alone proves nothing: a later trade may have come before it',
  async t => {
    const latest = record(upbitTick(BTC, 1, at(-20)))
    latest.interrupted(silence('upbit', -9, -5))
    latest.record(upbitTick(BTC, 2, at(-5.5), { receivedAt: at(-4.9) }))
    t.equal(priceBefore(latest, M), undefined)
    const later = upbitTick(BTC, 3, at(-5.2), { receivedAt: at(-4.8), origin: 'snapshot' })
    latest.record(later)
    t.equal(priceBefore(latest, M), 3, 'the snapshot tells which trade is the last')
  },
)

t.test('a snapshot that shows a trade after M says nothing about the last one before M', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)))
  latest.interrupted(silence('upbit', -4, -0.3))
  latest.record(upbitTick(BTC, 2, at(-0.6), { receivedAt: at(-0.2) }))
  latest.record(upbitTick(BTC, 3, at(0.05), { receivedAt: at(0.1), origin: 'snapshot' }))
  t.equal(priceBefore(latest, M), undefined)
  t.equal(priceBefore(latest, M + 1), 3)
})

t.test('the snapshot after a reconnect brings an old trade back', async t => {
  const latest = record(upbitTick(BTC, 1, at(-600)))
  latest.record(upbitTick(BTC, 1, at(-600), { receivedAt: at(-20), origin: 'snapshot' }))
  latest.interrupted(silence('upbit', -30, -19, -21))
  t.strictSame(latest.legBefore('upbit', BTC, M), { price: 1, tradedAt: at(-600), tradable: true })
})

t.test('a snapshot during a silence is no word on what came later in it', async t => {
  const latest = record(upbitTick(BTC, 1, at(-60)))
  latest.record(upbitTick(BTC, 1, at(-60), { receivedAt: at(-20), origin: 'snapshot' }))
  latest.interrupted(silence('upbit', -25, -15))
  t.equal(priceBefore(latest, M), undefined)
})

t.test('after a silence a fresh seed counts instead of a frame or a seed from before it', async t => {
  const latest = record(seed(USDT, 9, at(-55)), binanceTick(USDT, 1, at(-50)))
  latest.interrupted(silence('binance', -48, -40))
  t.equal(priceBefore(latest, M, USDT), undefined)
  latest.record(seed(USDT, 2, at(-30)))
  t.equal(priceBefore(latest, M, USDT), 2)
  latest.record(binanceTick(USDT, 3, at(-29)))
  t.equal(priceBefore(latest, M, USDT), 3)
})

t.test('a wall clock that stepped an hour ahead and back leaves no price unknown for an hour', async t => {
  const latest = new LatestTicks()
  latest.interrupted(silence('upbit', -30, 3_570))
  latest.interrupted(silence('upbit', 3_575, -25))
  latest.record(upbitTick(BTC, 1, at(-20)))
  t.equal(priceBefore(latest, M), 1)
  t.equal(latest.isInterruptedAt('upbit', M), false)
})

t.test('after a clock stepped back, what it dated an hour ahead stands in no minute’s way', async t => {
  const latest = record(
    binanceTick('BTCUSDT', 1, at(-50)),
    seed('BTCUSDT', 9, at(3_600)),
    seed('BTCUSDT', 9, at(3_660)),
    binanceTick('BTCUSDT', 2, at(-5)),
    binanceTick('BTCUSDT', 3, at(1)),
    binanceTick('BTCUSDT', 4, at(59)),
    binanceTick('BTCUSDT', 5, at(61)),
  )
  t.match(latest.legBefore('binance', 'BTCUSDT', M + 1), { price: 4, tradedAt: at(59) })
})

t.test('a silence of one exchange does not touch the other', async t => {
  const latest = record(binanceTick(USDT, 1, at(-50)), upbitTick(BTC, 2, at(-50)))
  latest.interrupted(silence('upbit', -48, -40))
  t.equal(priceBefore(latest, M, USDT), 1)
  t.equal(priceBefore(latest, M), undefined)
  t.equal(latest.isInterruptedAt('upbit', M), false)
})

t.test('a minute boundary within an interruption is known as such, the next one is not touched', async t => {
  const latest = new LatestTicks()
  latest.interrupted(silence('upbit', -2, 2))
  latest.interrupted(silence('upbit', 5, 9))
  t.equal(latest.isInterruptedAt('upbit', M), true)
  t.equal(latest.isInterruptedAt('binance', M), false)
  t.equal(latest.isInterruptedAt('upbit', M + 1), false)
  latest.interrupted({ exchange: 'binance', from: Number.NEGATIVE_INFINITY, to: at(1), pricesFrom: at(1) })
  t.equal(latest.isInterruptedAt('binance', M), true, 'before the first connection')
})

t.test('a stream has passed M when nothing from before M can be under way', async t => {
  const latest = record(upbitTick(BTC, 1, at(1.599)), binanceTick(USDT, 1, at(0.999)))
  t.equal(latest.hasPassed('upbit', M), false)
  t.equal(latest.hasPassed('binance', M), false)
  latest.record(upbitTick('KRW-ETH', 1, at(1.6)))
  latest.record(binanceTick('ETHUSDT', 1, at(1)))
  t.equal(latest.hasPassed('upbit', M), true)
  t.equal(latest.hasPassed('binance', M), true)
  t.equal(latest.hasPassed('upbit', M + 1), false)
  t.strictSame(latest.status('upbit'), { watermark: at(1.6), halted: [] })
})

t.test('snapshots, seeds and wrong times move no watermark', async t => {
  const latest = record(
    upbitTick(BTC, 1, at(30), { origin: 'snapshot' }),
    seed(USDT, 1, at(30)),
    upbitTick(BTC, 1, at(30), { receivedAt: at(27.9) }),
  )
  t.strictSame(latest.status('upbit'), { watermark: undefined, halted: [] })
  t.strictSame(latest.status('binance'), { watermark: undefined, halted: [] })
  latest.record(upbitTick(BTC, 1, at(30), { receivedAt: at(28) }))
  t.equal(latest.status('upbit').watermark, at(30))
})

t.test('a halt lasts until the exchange says otherwise', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)), binanceTick(USDT, 1, at(-20)))
  t.strictSame(latest.legBefore('upbit', BTC, M), { price: 1, tradedAt: at(-20), tradable: true })
  latest.record(upbitTick(BTC, 1, at(-20), { receivedAt: at(-10), origin: 'snapshot', tradable: false }))
  latest.setTradable('binance', USDT, false, at(-9))
  latest.setTradable('binance', 'NEWUSDT', false, at(-9))
  latest.record(upbitTick(BTC, 1, at(-20), { receivedAt: at(-9), origin: 'snapshot', tradable: undefined }))
  latest.record(binanceTick(USDT, 2, at(-8)))
  t.equal(latest.legBefore('upbit', BTC, M).tradable, false)
  t.equal(latest.legBefore('binance', USDT, M).tradable, false, 'a frame says nothing about it')
  t.strictSame(latest.status('binance').halted, [USDT, 'NEWUSDT'])
  latest.setTradable('binance', USDT, true, at(-7))
  latest.record(upbitTick(BTC, 1, at(-5)))
  t.equal(latest.legBefore('upbit', BTC, M).tradable, true)
  latest.forget('binance', 'NEWUSDT')
  t.strictSame(latest.status('binance').halted, [])
})

t.test('a Binance trade at least 2 s after the request outranks a status that denies it', async t => {
  const denied = record(binanceTick(USDT, 1, at(-40)))
  denied.setTradable('binance', USDT, false, at(-30))
  denied.record(binanceTick(USDT, 2, at(-28.001)))
  denied.record(binanceTick(USDT, 2, at(-20), { tradedAt: undefined }))
  t.strictSame(denied.status('binance').halted, [USDT], 'a trade under way, and a frame that proves none')
  denied.record(binanceTick(USDT, 3, at(-28)))
  t.strictSame(denied.status('binance').halted, [])
  denied.setTradable('binance', USDT, false, at(-30))
  t.strictSame(denied.status('binance').halted, [], 'the answer came after the trade')
  denied.setTradable('binance', USDT, false, at(-10))
  t.strictSame(denied.status('binance').halted, [USDT], 'a later request')
})

t.test('in an Upbit frame with trade and status the status counts', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20), { tradable: false }))
  t.strictSame(latest.status('upbit').halted, [BTC])
})

t.test("knows each market's last trade before M; on Binance not every frame is one", async t => {
  const latest = record(
    seed(USDT, 1, at(-50)),
    binanceTick(USDT, 2, at(-40)),
    binanceTick(USDT, 2, at(-30), { tradedAt: undefined }),
    binanceTick(USDT, 3, at(2)),
  )
  t.equal(latest.legBefore('binance', USDT, M).tradedAt, at(-40))
  t.equal(record(seed(USDT, 1, at(-50))).legBefore('binance', USDT, M).tradedAt, at(-50))
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

t.test('ticks from the near future do not push out what the next snapshot needs', async t => {
  const latest = new LatestTicks()
  for (let seconds = -300; seconds < 0; seconds += 10) {
    const receivedAt = at(seconds)
    latest.record(upbitTick(BTC, -seconds, receivedAt, { receivedAt }))
    latest.record(upbitTick(BTC, 999, receivedAt + 60_000, { receivedAt }))
  }
  t.equal(priceBefore(latest, M), 10)
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

t.test('frames are compared with our clock by the time they were sent, not by their trade', async t => {
  const receivedAt = at(-30)
  const sent = (sentAt: number | undefined) => upbitTick(BTC, 1, at(-40), { receivedAt, sentAt })
  t.equal(record(sent(at(-30.5))).skewBefore('upbit', M), 'none', 'an old trade, sent just now')
  t.equal(record(sent(at(-33))).skewBefore('upbit', M), 'late')
  t.equal(record(sent(undefined)).skewBefore('upbit', M), 'none')
  t.equal(record({ ...sent(at(-33)), origin: 'snapshot' }).skewBefore('upbit', M), 'none')
})
