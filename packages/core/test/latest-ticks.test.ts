import fc from 'fast-check'
import t from 'tap'
import { LatestTicks, minuteOf, type Tick } from '../src/index.ts'
import { at, binanceTick, M, seed, upbitTick } from './ticks.ts'

const BTC = 'KRW-BTC'
const USDT = 'BTCUSDT'

function record(...ticks: readonly Tick[]): LatestTicks {
  const latest = new LatestTicks()
  for (const tick of ticks) latest.record(tick)
  return latest
}

function priceBefore(latest: LatestTicks, minute: number, market = BTC): number | undefined {
  return latest.before(minute)[market === BTC ? 'upbit' : 'binance'].get(market)?.price
}

// docs/faults.md, 22
t.test(
  'ticks in any order and repeated give the answers of sorting all of them, for this minute and the one before',
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

/** A time in seconds around M, to the millisecond. */
const time = (min: number, max: number) =>
  fc.integer({ min: min * 1_000, max: max * 1_000 }).map(ms => ms / 1_000)

/** At most two spans of more than 3 s, one after the other, in which everything that arrives is lost. */
const losses = fc.array(fc.tuple(time(-150, -4), time(3.001, 20)), { maxLength: 2 }).map(drawn => {
  const spans = drawn.map(([from, length]) => ({ from, to: from + length })).sort((a, b) => a.from - b.from)
  return spans.filter(({ from }, index) => from > (spans[index - 1]?.to ?? Number.NEGATIVE_INFINITY))
})

/** The order in which ticks are recorded. */
const order = fc.infiniteStream(fc.integer())

interface Loss {
  readonly exchange: 'upbit' | 'binance'
  readonly from: number
  readonly to: number
}

/** Records what arrives by M + 2 s, shuffled and then once more in order, and the losses. */
function receive(ticks: readonly Tick[], lost: readonly Loss[], keys: Iterable<number>): LatestTicks {
  const isLost = ({ receivedAt }: Tick) =>
    lost.some(({ from, to }) => at(from) < receivedAt && receivedAt < at(to))
  const arrived = ticks.filter(tick => tick.receivedAt <= at(2) && !isLost(tick))
  const key = keys[Symbol.iterator]()
  const shuffled = arrived.map(tick => ({ tick, place: key.next().value as number }))
  const latest = record(...shuffled.sort((a, b) => a.place - b.place).map(({ tick }) => tick), ...arrived)
  for (const { exchange, to } of lost) latest.miss(exchange, undefined, at(to))
  return latest
}

/** The last of all ticks before an instant, lost ones included. */
function lastBefore(instant: number, ticks: readonly Tick[]): Tick | undefined {
  const before = ticks.filter(({ eventAt }) => eventAt < instant)
  return before.sort((a, b) => a.eventAt - b.eventAt).at(-1)
}

// docs/faults.md, 22
t.test('an Upbit price is that of the last trade before M, or unknown, whatever was lost', async () => {
  const trade = fc.record({ second: time(-175, 1), delay: time(0.05, 1.55) })
  const trades = fc.uniqueArray(trade, { maxLength: 40, selector: ({ second }) => second })
  fc.assert(
    fc.property(trades, losses, time(0.05, 3), order, (drawn, gone, wait, keys) => {
      // The price names the trade.
      const ticks = drawn.map(({ second, delay }, index) =>
        upbitTick(BTC, index + 1, at(second), { receivedAt: at(second + delay) }),
      )
      const lost = gone.map(span => ({ exchange: 'upbit' as const, ...span }))
      // After each loss the subscription is sent again, and its snapshot shows the last trade of that time.
      const snapshots = lost.flatMap(({ to }): Tick[] => {
        const last = lastBefore(at(to), ticks)
        return last ? [{ ...last, receivedAt: at(to + wait), origin: 'snapshot' }] : []
      })
      const price = priceBefore(receive([...ticks, ...snapshots], lost, keys), M)
      const [snapshot] = snapshots.slice(lost.length - 1)
      const isSeenAgain = snapshot && snapshot.receivedAt <= at(2) && snapshot.eventAt < at(0)
      const mayBeUnknown = lost.length > 0 && !isSeenAgain
      return price === lastBefore(at(0), ticks)?.price || (mayBeUnknown && price === undefined)
    }),
    { numRuns: 2_000 },
  )
})

t.test('a Binance price is that of the last frame before M, or unknown, whatever was lost', async () => {
  const trades = fc.uniqueArray(time(-175, 1), { maxLength: 40 })
  fc.assert(
    fc.property(trades, losses, time(0.05, 3), order, (drawn, gone, wait, keys) => {
      // The price names the trade. Each second with a trade ends with a frame.
      const traded = drawn.map((second, index) => binanceTick(USDT, index + 1, at(second)))
      const frames = [...new Set(drawn.map(Math.ceil))].map(second => {
        const { price = 0 } = lastBefore(at(second) + 1, traded) ?? {}
        return binanceTick(USDT, price, at(second))
      })
      const lost = gone.map(span => ({ exchange: 'binance' as const, ...span }))
      // After each loss the last price is requested.
      const seeds = lost.flatMap(({ to }): Tick[] => {
        const receivedAt = at(to + wait)
        const last = lastBefore(receivedAt, traded)
        return last ? [seed(USDT, last.price, receivedAt)] : []
      })
      const price = priceBefore(receive([...frames, ...seeds], lost, keys), M, USDT)
      const isSeenAgain = (seeds.slice(lost.length - 1)[0]?.receivedAt ?? at(0)) <= at(-3)
      const mayBeUnknown = lost.length > 0 && !isSeenAgain
      return price === lastBefore(at(0), frames)?.price || (mayBeUnknown && price === undefined)
    }),
    { numRuns: 2_000 },
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
  latest.record(binanceTick(USDT, 3, at(-41), { receivedAt: at(-39.5) }))
  t.equal(priceBefore(latest, M, USDT), 3, 'although the frame is dated before the seed')
  latest.record(seed(USDT, 4, at(-1)))
  t.equal(priceBefore(latest, M, USDT), 3)
})

// docs/faults.md, 99
t.test(
  'a seed received in the last three seconds may be newer than the last frame before M, and is not used',
  async t => {
    // A second of disorder, and two by which our clock may be behind.
    t.equal(priceBefore(record(seed(USDT, 1, at(-2.999))), M, USDT), undefined)
    t.equal(priceBefore(record(seed(USDT, 1, at(-3))), M, USDT), 1)
  },
)

t.test('a snapshot that shows a trade at M or later does not confirm the last one before M', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)))
  latest.miss('upbit', undefined, at(-0.3))
  latest.record(upbitTick(BTC, 2, at(-0.6), { receivedAt: at(-0.2) }))
  latest.record(upbitTick(BTC, 3, at(0), { receivedAt: at(0.1), origin: 'snapshot' }))
  t.equal(priceBefore(latest, M), undefined)
  t.equal(priceBefore(latest, M + 1), 3)
})

t.test('a price counts again from the instant at which the exchange is heard again', async t => {
  const interrupted = (...ticks: readonly Tick[]) => {
    const latest = record(upbitTick(BTC, 1, at(-20)), binanceTick(USDT, 1, at(-20)), ...ticks)
    for (const exchange of ['upbit', 'binance'] as const) latest.miss(exchange, undefined, at(-5))
    return latest
  }
  const snapshot = upbitTick(BTC, 2, at(-6), { receivedAt: at(-4.999), origin: 'snapshot' })
  t.equal(priceBefore(interrupted(snapshot), M), 2)
  t.equal(priceBefore(interrupted({ ...snapshot, receivedAt: at(-5) }), M), undefined, 'maybe from before')
  t.equal(priceBefore(interrupted(upbitTick(BTC, 2, at(-4), { receivedAt: at(-3.4) })), M), 2)
  t.equal(priceBefore(interrupted(upbitTick(BTC, 2, at(-4), { receivedAt: at(-3.401) })), M), undefined)
  t.equal(priceBefore(interrupted(seed(USDT, 2, at(-5))), M, USDT), 2)
})

t.test('snapshots, seeds and wrong times do not move the watermark', async t => {
  const latest = record(
    upbitTick(BTC, 1, at(30), { origin: 'snapshot' }),
    seed(USDT, 1, at(30)),
    upbitTick(BTC, 1, at(30), { receivedAt: at(27.9) }),
  )
  t.match(latest.status('upbit'), { missed: [{ count: 1 }], watermark: undefined, halted: [] })
  t.match(latest.status('binance'), { missed: [], watermark: undefined, halted: [] })
  latest.record(upbitTick(BTC, 1, at(30), { receivedAt: at(28) }))
  t.equal(latest.status('upbit').watermark, at(30))
})

t.test('a halt lasts until the exchange says otherwise', async t => {
  const latest = record(upbitTick(BTC, 1, at(-20)), binanceTick(USDT, 1, at(-20)))
  t.strictSame(latest.before(M).upbit.get(BTC), { price: 1, tradedAt: at(-20), tradable: true })
  latest.record(upbitTick(BTC, 1, at(-20), { receivedAt: at(-10), origin: 'snapshot', tradable: false }))
  latest.setTradable('binance', USDT, false, at(-9))
  latest.setTradable('binance', 'NEWUSDT', false, at(-9))
  latest.record(upbitTick(BTC, 1, at(-20), { receivedAt: at(-9), origin: 'snapshot', tradable: undefined }))
  latest.record(binanceTick(USDT, 2, at(-8)))
  t.equal(latest.before(M).upbit.get(BTC)?.tradable, false)
  t.equal(latest.before(M).binance.get(USDT)?.tradable, false, 'a frame does not say whether it trades')
  t.strictSame(latest.status('binance').halted, [USDT, 'NEWUSDT'])
  latest.setTradable('binance', USDT, true, at(-7))
  latest.record(upbitTick(BTC, 1, at(-5)))
  t.equal(latest.before(M).upbit.get(BTC)?.tradable, true)
  latest.forget('binance', 'NEWUSDT')
  t.strictSame(latest.status('binance').halted, [])
})

t.test('a Binance trade at least 2 s after the status request outranks its answer', async t => {
  const denied = record(binanceTick(USDT, 1, at(-40)))
  denied.setTradable('binance', USDT, false, at(-30))
  denied.record(binanceTick(USDT, 2, at(-28.001)))
  denied.record(binanceTick(USDT, 2, at(-20), { tradedAt: undefined }))
  t.strictSame(denied.status('binance').halted, [USDT], 'a trade within 2 s, and a frame that proves none')
  denied.record(binanceTick(USDT, 3, at(-28)))
  t.strictSame(denied.status('binance').halted, [])
  denied.setTradable('binance', USDT, false, at(-30))
  t.strictSame(denied.status('binance').halted, [], 'the answer came after the trade')
  denied.setTradable('binance', USDT, false, at(-10))
  t.strictSame(denied.status('binance').halted, [USDT], 'a later request')
})

// docs/faults.md, 85
t.test(
  'a tick more than two seconds in the future is refused, and the price before it is not the last',
  async t => {
    const latest = record(upbitTick(BTC, 1, at(-5)))
    const receivedAt = at(-4)
    latest.record(upbitTick(BTC, 2, receivedAt + 2_001, { receivedAt }))
    latest.record(upbitTick(BTC, 2, Number.NaN, { receivedAt }))
    t.equal(priceBefore(latest, M + 200), undefined)
    t.match(latest.status('upbit').missed, [{ count: 2 }])
    t.equal(latest.status('upbit').watermark, at(-5))
    latest.record(upbitTick(BTC, 3, receivedAt + 2_000, { receivedAt }))
    t.match(latest.status('upbit').missed, [{ count: 2 }], 'two seconds are allowed')
  },
)

// docs/faults.md, 85
t.test('after our clock stepped back everything begins anew, for that exchange alone', async t => {
  const latest = record(
    binanceTick(USDT, 1, at(80)),
    seed(USDT, 9, at(85)),
    upbitTick(BTC, 1, at(-5)),
    upbitTick('KRW-ETH', 1, at(85)),
    binanceTick('ETHUSDT', 1, at(85)),
  )
  t.ok(latest.before(M).hasPassed)
  latest.setTradable('binance', 'ETHUSDT', false, at(89))
  latest.record(binanceTick('SOLUSDT', 1, at(-1.1)), { lastAt: at(85.1) })
  t.equal(priceBefore(latest, M + 2, USDT), undefined)
  t.notOk(latest.before(M).hasPassed)
  t.strictSame(latest.status('binance').halted, [])
  t.equal(priceBefore(latest, M), 1, 'the other exchange')
  latest.record(binanceTick(USDT, 3, at(-0.5)))
  t.equal(priceBefore(latest, M, USDT), undefined, 'a frame that this one overtook may show a later trade')
  latest.record(seed(USDT, 2, at(5)))
  t.equal(priceBefore(latest, M + 1, USDT), 2)
})

t.test('a seed does not confirm a frame that came before it was asked for', async t => {
  const latest = record(seed(USDT, 9, at(-30)))
  latest.miss('binance', undefined, at(-20))
  latest.record(binanceTick(USDT, 1, at(-19.9)))
  t.equal(priceBefore(latest, M, USDT), undefined, 'a later frame may have been lost')
  latest.record(seed(USDT, 2, at(-19.5)))
  t.equal(priceBefore(latest, M, USDT), 2, 'the trade that was lost')
  latest.record(binanceTick(USDT, 3, at(-19.4)))
  t.equal(priceBefore(latest, M, USDT), 3, 'what came since is newer than the seed')
})

t.test('a seed that was asked for before the stream was whole again may lack a lost trade', async t => {
  const latest = new LatestTicks()
  latest.miss('binance', undefined, at(-20))
  latest.record({ ...seed(USDT, 1, at(-19)), sentAt: at(-20.001) })
  t.equal(priceBefore(latest, M, USDT), undefined)
  latest.record({ ...seed(USDT, 1, at(-18)), sentAt: at(-20) })
  t.equal(priceBefore(latest, M, USDT), 1)
  latest.miss('binance', undefined, at(-10))
  latest.record({ ...seed(USDT, 2, at(-9)), sentAt: undefined })
  t.equal(priceBefore(latest, M, USDT), 2, 'one that does not say counts from when it came')
})

t.test('tells when both streams have passed M', async t => {
  const latest = record(upbitTick(BTC, 1, at(1.6)))
  latest.record(binanceTick(USDT, 1, at(0.999)))
  t.notOk(latest.before(M).hasPassed, 'Binance has not')
  latest.record(binanceTick(USDT, 1, at(1)))
  t.ok(latest.before(M).hasPassed)
  latest.record(binanceTick(USDT, 1, at(0.5)))
  t.ok(latest.before(M).hasPassed, 'whatever comes late')
  const behind = record(upbitTick(BTC, 1, at(1.599)), binanceTick(USDT, 1, at(9)))
  t.notOk(behind.before(M).hasPassed, 'Upbit has not')
})

t.test('remembers in which of the last three minutes a market traded, whatever comes first', async () => {
  const minutes = fc.uniqueArray(fc.integer({ min: M - 10, max: M - 1 }))
  fc.assert(
    fc.property(minutes, traded => {
      const latest = record(...traded.map(minute => upbitTick(BTC, 1, at(1, minute), { receivedAt: at(0) })))
      return [M - 3, M - 2, M - 1].every(
        minute => latest.before(minute + 1).upbitUp === traded.includes(minute),
      )
    }),
  )
})

t.test('frames are compared with our clock by the time they were sent, not by their trade', async t => {
  const receivedAt = at(-30)
  const sent = (sentAt: number | undefined) => upbitTick(BTC, 1, at(-40), { receivedAt, sentAt })
  t.notOk(record(sent(at(-30.5))).before(M).isSkewed, 'an old trade, sent just now')
  t.ok(record(sent(at(-33))).before(M).isSkewed)
  t.notOk(record(sent(undefined)).before(M).isSkewed)
  t.notOk(record({ ...sent(at(-33)), origin: 'snapshot' }).before(M).isSkewed)
})

t.test('the clock is wrong in a minute by all its frames, and in no other minute', async t => {
  const frame = (minute: number, lag: number) =>
    upbitTick(BTC, 1, at(1 - lag, minute), { receivedAt: at(1, minute) })
  const latest = record(frame(M, 10), frame(M + 1, 10), frame(M + 1, 0), frame(M + 2, 0), frame(M + 3, 10))
  const skewed = [0, 1, 2, 3, 4, 5].filter(ended => latest.before(M + ended).isSkewed)
  t.strictSame(skewed, [1, 4])
})

// docs/faults.md, 97
t.test('a frame that cannot be read makes its market unknown until something newer comes', async t => {
  const missed = (...ticks: readonly Tick[]) => {
    const latest = record(upbitTick(BTC, 1, at(-30)), binanceTick(USDT, 1, at(-30)))
    for (const [exchange, market] of [['upbit', BTC] as const, ['binance', USDT] as const])
      latest.miss(exchange, market, at(-20))
    for (const tick of ticks) latest.record(tick)
    return latest
  }
  t.equal(priceBefore(missed(), M), undefined)
  t.equal(priceBefore(missed(upbitTick('KRW-ETH', 7, at(-10))), M), undefined)
  const soon = upbitTick(BTC, 2, at(-19), { receivedAt: at(-18.401) })
  t.equal(priceBefore(missed(soon), M), undefined, 'the other one may have overtaken it')
  t.equal(priceBefore(missed({ ...soon, receivedAt: at(-18.399) }), M), 2)
  const snapshot = upbitTick(BTC, 3, at(-30), { receivedAt: at(-19.9), origin: 'snapshot' })
  t.equal(priceBefore(missed(snapshot), M), 3)
  t.equal(priceBefore(missed({ ...snapshot, receivedAt: at(-20) }), M), undefined, 'not one from before')
  t.equal(priceBefore(missed(seed(USDT, 4, at(-19))), M, USDT), 4)
  t.equal(priceBefore(missed({ ...seed(USDT, 4, at(-19)), sentAt: at(-20) }), M, USDT), undefined)
  t.equal(priceBefore(missed(binanceTick(USDT, 5, at(-18))), M, USDT), 5)
})

// docs/faults.md, 97
t.test('frames that cannot be read are counted by market, from when the trouble began', async t => {
  const latest = record(upbitTick(BTC, 1, at(-600)))
  const seen = () => latest.status('upbit').missed
  t.strictSame(seen(), [])
  latest.miss('upbit', BTC, at(-500))
  t.strictSame(seen(), [{ market: BTC, count: 1, since: at(-500), lastAt: at(-500), isOver: false }])
  latest.record(upbitTick(BTC, 2, at(-450)))
  t.match(seen(), [{ isOver: true }])
  latest.miss('upbit', BTC, at(-400))
  t.match(seen(), [{ count: 2, since: at(-500), isOver: false }], 'one trouble, with a good frame in it')
  latest.record(upbitTick(BTC, 3, at(-350)))
  latest.miss('upbit', BTC, at(-200))
  t.match(seen(), [{ count: 3, since: at(-200) }], 'another one')
  latest.miss('upbit', BTC, at(-50))
  t.match(seen(), [{ count: 4, since: at(-200) }], 'nothing was heard in between')
})

t.test('a seed that was asked for after a frame that cannot be read ends the trouble', async t => {
  const latest = new LatestTicks()
  latest.miss('binance', USDT, at(-40))
  latest.record(seed(USDT, 5, at(-30)))
  t.match(latest.status('binance').missed, [{ count: 1, isOver: true }])
})

/** A minute of frames of another market, on their way for 0.1 s, by a clock that is off. */
function usualMinute(offSeconds: number): LatestTicks {
  const seconds = Array.from({ length: 30 }, (_, index) => -100 + index)
  const receivedAt = (second: number) => at(second + 0.1 + offSeconds)
  return record(...seconds.map(s => upbitTick('KRW-ETH', 7, at(s), { receivedAt: receivedAt(s) })))
}

// docs/faults.md, 97
t.test('a frame is dated ahead by the stream, not by our clock', async t => {
  for (const off of [-1.5, 0, 1.5]) {
    const ahead = (seconds: number) => {
      const latest = usualMinute(off)
      latest.record(upbitTick(BTC, 1, at(-30 + seconds), { receivedAt: at(-29.9 + off) }))
      return latest.status('upbit').missed.length === 1
    }
    t.notOk(ahead(0.1), `as fast as can be, our clock off by ${off} s`)
    t.ok(ahead(0.6), `our clock off by ${off} s`)
  }
})

t.test('a minute of few frames does not say how long frames usually take', async t => {
  const latest = usualMinute(0)
  const seconds = Array.from({ length: 19 }, (_, index) => 120 + index)
  const early = (second: number) => upbitTick('KRW-ETH', 7, at(second), { receivedAt: at(second - 0.3) })
  for (const second of seconds) latest.record(early(second))
  const busy = Array.from({ length: 20 }, (_, index) => 180 + index)
  for (const second of busy) {
    latest.record(upbitTick('KRW-ETH', 7, at(second), { receivedAt: at(second + 0.1) }))
  }
  t.strictSame(latest.status('upbit').missed, [])
  latest.record(upbitTick(BTC, 1, at(200.7), { receivedAt: at(200.1) }))
  t.match(latest.status('upbit').missed, [{ count: 1 }], 'half a second ahead of the minutes that tell')
})

// docs/faults.md, 98
t.test('a stream frame that was on its way for more than two seconds shows no price', async t => {
  for (const [off, of] of [
    [0, () => new LatestTicks()],
    [0, () => usualMinute(0)],
    [-1.5, () => usualMinute(-1.5)],
  ] as const) {
    const late = (lagSeconds: number, changes: Partial<Tick> = {}) =>
      upbitTick(BTC, 1, at(-30), { receivedAt: at(-30 + lagSeconds + off), ...changes })
    t.notOk(of().record(late(2)))
    t.ok(of().record(late(2.101)))
    t.notOk(of().record(late(9, { origin: 'snapshot' })), 'it repeats the past')
    t.ok(of().record(late(9, { sentAt: undefined })), 'its trade tells')
    t.notOk(of().record(late(9, { sentAt: at(-22) })), 'an old trade, sent just now')
    t.ok(of().record(late(9, { eventAt: Number.NaN })), 'even where its trade is ahead')
    const latest = of()
    latest.record(late(9))
    t.equal(priceBefore(latest, M), undefined)
    t.match(latest.status('upbit'), { lateTicks: 1, missed: [] })
    t.ok(latest.before(M).upbitUp, 'it still is a trade')
  }
})

t.test('late frames supersede the snapshot that was held up with them', async t => {
  const held = (price: number, eventAt: number, changes: Partial<Tick> = {}) =>
    upbitTick(BTC, price, eventAt, { receivedAt: at(4), ...changes })
  const latest = record(held(1, at(-60), { origin: 'snapshot' }), held(2, at(-10)), held(3, at(3)))
  t.equal(priceBefore(latest, M), undefined)
  latest.record(held(3, at(3), { origin: 'snapshot' }))
  t.equal(priceBefore(latest, M + 1), 3, 'the next snapshot tells, however soon')
  latest.record(upbitTick('KRW-ETH', 1, at(5)), { openedAt: at(3.9) })
  t.equal(priceBefore(latest, M + 1), 3, 'also where its connection had been opened before')
})
