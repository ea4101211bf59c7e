import { minuteOf, minuteStart, premiumE4, type Sample } from '@kimchi/core'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { auditCandles, wrongDays } from '../support/audit.ts'
import { BTC, ETH, KNC, openBench, openVenues, YESTERDAY } from '../support/backfill-bench.ts'
import { passUntil, until } from '../support/waiting.ts'
import { worldOf } from '../support/world.ts'

const at = (minute: number) => minuteStart(YESTERDAY + minute)

/** A sample as a feed would have made it; its premium is no candle's. */
function liveSample(symbol: string, minute: number): Sample {
  const prices = [123_456_789, 80_000, 1_400] as const
  const [upbitKrw, binanceUsdt, usdtKrw] = prices
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premiumE4(...prices), source: 'live' }
}

const venues = await openVenues(t)
const { gate, simulator } = venues

t.test('the newest complete minute of every coin comes before anything older', async t => {
  const { start, writer, clock } = await openBench(t, venues)
  const written: Sample[][] = []
  start([BTC, ETH], {
    write: async samples => {
      if (samples.length > 0) written.push([...samples])
      await writer.write({ minute: YESTERDAY + 360, samples })
    },
  })
  await passUntil(clock, 'something is written', () => written.length > 0)
  t.match(written[0], [
    { symbol: 'BTC', minute: YESTERDAY + 360 },
    { symbol: 'ETH', minute: YESTERDAY + 360 },
  ])
  t.equal(
    gate.requests.length,
    6,
    'one for the newest minute; three markets on Upbit, two on Binance, each once',
  )
})

t.test(
  'a clock an hour ahead takes no open candle for a whole one, and nothing of the time to come',
  async t => {
    const present = minuteOf(Date.now())
    const { start, reader, clock } = await openBench(t, venues, { at: present - YESTERDAY + 60 })
    const { status } = start([BTC], { days: 0 })
    await passUntil(clock, 'a pass is over', () => status().passes === 1)
    const { entries } = await reader.readSamples('BTC', present - 30, present + 90)
    t.ok(entries.length > 0)
    t.ok((entries.at(-1)?.minute ?? 0) <= minuteOf(Date.now()) - 1, 'no minute is taken that may not be over')
    t.ok((status().progress?.gaps ?? 0) === 0, 'no minute to come is settled as a gap')
  },
)

t.test('an empty Redis is filled to the last minute that is left to the feeds, all true', async t => {
  const { start, reader, clock } = await openBench(t, venues)
  const { status } = start([BTC, ETH, KNC])
  await passUntil(clock, 'a pass is over', () => status().passes === 1)
  const world = worldOf(simulator.prices)
  for (const coin of [BTC, ETH, KNC]) {
    const audit = await auditCandles(reader, world, coin, YESTERDAY, YESTERDAY + 355)
    t.strictSame(audit.wrong, [], coin.symbol)
    t.ok(audit.samples > 300, `${audit.samples} samples`)
  }
  const [upbit, binance] = [gate.candleRequests('upbit'), gate.candleRequests('binance')]
  const busy = upbit.filter(({ market }) => market !== 'KRW-KNC').length
  t.comment(
    `${busy} requests for 3 busy Upbit markets, ${upbit.length - busy} for a quiet one, ${binance.length} for 3 of Binance`,
  )
  // 355 minutes are two pages on Upbit and one on Binance; one more of each for the newest minute, and one to compare.
  t.ok(busy <= 3 * (2 + 2) && binance.length <= 3 * (1 + 2), 'hardly more requests than pages')
  t.equal(status().progress?.done, status().progress?.total)
  t.equal(status().problem, undefined)
})

t.test('holes of any shape are filled, and a live sample is never replaced', async t => {
  const { start, reader, writer, clock } = await openBench(t, venues)
  const live: Sample[] = []
  for (let minute = 0; minute < 360; minute++) {
    const isHole = minute < 3 || (minute > 100 && minute < 190) || minute % 17 === 0 || minute === 354
    if (!isHole) live.push(liveSample('BTC', YESTERDAY + minute))
  }
  await writer.write({ minute: YESTERDAY + 360, samples: live })
  const { status } = start([BTC])
  await passUntil(clock, 'a pass is over', () => status().passes === 1)
  t.strictSame(
    (await auditCandles(reader, worldOf(simulator.prices), BTC, YESTERDAY, YESTERDAY + 355)).wrong,
    [],
  )
  const { entries } = await reader.readSamples('BTC', YESTERDAY, YESTERDAY + 361)
  t.strictSame(
    entries.filter(({ source }) => source === 'live'),
    live,
    'every live sample as it was',
  )
})

t.test('exchange outages in candles stay gaps and are not asked for again', async t => {
  const outages = [
    { exchange: 'upbit', from: at(60) - 20_000, to: at(90) },
    { exchange: 'binance', from: at(150), to: at(200) + 10_000 },
    { exchange: 'binance', from: at(220), to: at(230) },
  ] as const
  const { start, reader, clock } = await openBench(t, venues)
  gate.outages = outages
  gate.missing = [{ exchange: 'binance', from: at(170), to: at(200) }]
  const { status } = start([BTC, KNC])
  await passUntil(clock, 'a pass is over', () => status().passes === 1)
  const world = worldOf(simulator.prices, outages)
  const btc = await auditCandles(reader, world, BTC, YESTERDAY, YESTERDAY + 355)
  t.strictSame(btc.wrong, [])
  t.equal(btc.gaps, 30 + 50 + 10, 'minutes without any trade')
  t.strictSame((await auditCandles(reader, world, KNC, YESTERDAY, YESTERDAY + 355)).wrong, [])
  t.ok(status().gaps >= btc.gaps)

  gate.requests.length = 0
  await passUntil(clock, 'another pass is over', () => status().passes === 2, 1_000)
  // Ten minutes are compared with candles in each pass, and the newest three became old enough to be filled.
  t.ok(gate.requests.length <= 2 * 5, `${gate.requests.length} requests`)
})

t.test('two ingesters on one Redis do not fetch the same candles twice', async t => {
  const { start, clock, reader } = await openBench(t, venues)
  const first = start([BTC, ETH], { id: 'a' })
  const second = start([BTC, ETH], { id: 'b' })
  await passUntil(clock, 'a pass is over', () => first.status().passes + second.status().passes === 1)
  const alone = gate.requests.length
  t.ok(alone > 0)
  await passUntil(
    clock,
    'more passes are over',
    () => first.status().passes + second.status().passes >= 4,
    1_000,
  )
  t.equal(Math.min(first.status().passes, second.status().passes), 0, 'one of them does all of it')
  t.strictSame(await wrongDays(reader, BTC), [])
})

t.test('the other ingester goes on where one was ended, and at once', async t => {
  const { start, clock, reader } = await openBench(t, venues)
  const first = start([BTC, ETH], { id: 'a' })
  await passUntil(clock, 'the first has begun', () => (first.status().progress?.done ?? 0) > 0)
  const second = start([BTC, ETH], { id: 'b' })
  await first.stop()
  t.equal(first.status().passes, 0, 'ended in the middle')
  const endedAt = clock.now()
  gate.requests.length = 0
  await passUntil(clock, 'the second has begun', () => gate.requests.length > 0)
  t.ok(clock.now() - endedAt <= 60_000, `took over within ${clock.now() - endedAt} ms by its clock`)
  await passUntil(clock, 'the second has done it', () => second.status().passes === 1)
  const world = worldOf(simulator.prices)
  for (const coin of [BTC, ETH]) {
    t.strictSame((await auditCandles(reader, world, coin, YESTERDAY, YESTERDAY + 355)).wrong, [])
  }
})

t.test('a lease lost in the middle of a pass ends it without a loss and without a complaint', async t => {
  const { start, clock, redis, reader } = await openBench(t, venues)
  let claims = 0
  const { status } = start([BTC, ETH], {
    lease: {
      // Lost at the second piece of work, had again a while later.
      claim: async () => ++claims < 5 || claims > 8,
      close: async () => {},
      take: async () => {},
    },
  })
  await passUntil(clock, 'the lease is lost', () => claims >= 5)
  await passUntil(clock, 'a whole pass is over', () => status().passes >= 1 && claims > 9, 1_000)
  t.equal(status().problem, undefined)
  await passUntil(
    clock,
    'all is filled',
    async () => {
      const missing = await reader.readMissing('ETH', YESTERDAY, YESTERDAY + 355)
      return missing.length === 0
    },
    1_000,
  )
  t.strictSame(
    (await auditCandles(reader, worldOf(simulator.prices), ETH, YESTERDAY, YESTERDAY + 355)).wrong,
    [],
  )
  t.ok(redis.status().ready)
})

for (const [title, appendonly] of [
  ['Redis away in the middle of a pass: the pass is held up, says why, and nothing is lost', true],
  ['a Redis that comes back empty, without functions, is filled anew', false],
] as const) {
  t.test(title, async t => {
    const testRedis = await startRedis(t, { appendonly })
    const { start, clock, reader, redis } = await openBench(t, venues, { redis: testRedis })
    const { status } = start([BTC, ETH])
    await passUntil(clock, 'the pass has begun', () => (status().progress?.done ?? 0) > 0)
    await testRedis.stop()
    await passUntil(clock, 'it noticed', () => status().problem !== undefined)
    t.match(status().problem, /127\.0\.0\.1|connect|closed/i)
    await testRedis.restart()
    await until('Redis is back', () => redis.status().ready)
    await passUntil(clock, 'a pass is over', () => status().passes === 1)
    t.equal(status().problem, undefined)
    const world = worldOf(simulator.prices)
    for (const coin of [BTC, ETH]) {
      t.strictSame((await auditCandles(reader, world, coin, YESTERDAY, YESTERDAY + 355)).wrong, [])
    }
  })
}

t.test('429, 418 and 451 are waited out for as long as asked, then the pass goes on', async t => {
  const { start, clock } = await openBench(t, venues, { at: 30 })
  const refusals = [
    { status: 429, headers: { 'retry-after': '7' }, waitMs: 7_000 },
    { status: 418, headers: { 'retry-after': '120' }, waitMs: 120_000 },
    { status: 451, headers: {}, waitMs: 600_000 },
  ]
  const refusedAt: number[] = []
  const askedAt: number[] = []
  gate.intercept = ({ market }) => {
    if (market !== 'KRW-USDT') return undefined
    askedAt.push(clock.now())
    const refusal = refusals[refusedAt.length]
    if (refusal === undefined) return undefined
    refusedAt.push(clock.now())
    return { status: refusal.status, body: '{}', headers: refusal.headers }
  }
  const { status } = start([BTC])
  await passUntil(clock, 'the first refusal is known', () => status().problem !== undefined)
  t.match(status().problem, /upbit .*429/)
  await passUntil(clock, 'a pass is over', () => status().passes === 1)
  for (const [index, { status, waitMs }] of refusals.entries()) {
    const waited = (askedAt[index + 1] ?? 0) - (refusedAt[index] ?? 0)
    t.ok(waited >= waitMs && waited <= waitMs * 1.1 + 250, `${status}: asked again after ${waited} ms`)
  }
})

t.test('an answer that is cut off is asked for again', async t => {
  const { start, clock, reader } = await openBench(t, venues, { at: 30 })
  let cut = 0
  gate.intercept = ({ market }) =>
    market !== '' && cut++ < 3 ? { status: 200, body: '[{"market":"KRW-BTC","candle_da' } : undefined
  const { status } = start([BTC])
  await passUntil(clock, 'a pass is over', () => status().passes === 1)
  t.ok(cut > 3)
  t.strictSame(
    (await auditCandles(reader, worldOf(simulator.prices), BTC, YESTERDAY, YESTERDAY + 25)).wrong,
    [],
  )
})

t.test('ends at once in the middle of a request that is never answered', async t => {
  const { start, clock } = await openBench(t, venues, { at: 30 })
  gate.intercept = ({ market }) => (market === '' ? undefined : 'hang')
  const { stop } = start([BTC])
  await passUntil(clock, 'a request hangs', () => gate.requests.length > 0)
  await stop()
  t.equal(clock.waiting, 0, 'no timer is left')
})
