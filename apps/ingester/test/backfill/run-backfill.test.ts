import {
  type Coin,
  formatTimestamp,
  KimchiError,
  minuteOf,
  minuteStart,
  premiumE4,
  type Sample,
} from '@kimchi/core'
import { createMemoryLog, eventually, passUntil, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { COINS_AT_ONCE } from '../../src/backfill/run-backfill.ts'
import { BTC, ETH, KNC, openBench, openExchanges, YESTERDAY } from '../support/backfill-bench.ts'

const at = (minute: number) => minuteStart(YESTERDAY + minute)

/** A sample as a feed would have made it; its premium is no candle's. */
function liveSample(symbol: string, minute: number): Sample {
  const prices = [123_456_789, 80_000, 1_400] as const
  const [upbitKrw, binanceUsdt, usdtKrw] = prices
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premiumE4(...prices), source: 'live' }
}

const RIGHT = { lost: 0, doubled: 0, wrong: 0 }
const exchanges = await openExchanges(t)
const { simulator, requests, requestsFor } = exchanges

t.test('the newest complete minute of every coin comes before anything older than its block', async t => {
  const { start, writer, clock, isWhole } = await openBench(t, exchanges)
  const batches: (readonly Sample[])[] = []
  start([BTC, ETH], {
    writer: {
      write: batch => {
        batches.push(batch.samples)
        return writer.write(batch)
      },
    },
  })
  await passUntil(clock, 'both are whole', isWhole([BTC, ETH]))
  t.strictSame(
    batches
      .slice(0, 2)
      .map(samples => [samples.at(-1)?.symbol, (samples.at(-1)?.minute ?? 0) - YESTERDAY])
      .sort(),
    [
      ['BTC', 360],
      ['ETH', 360],
    ],
  )
  const tooNew = batches.flat().filter(({ minute }) => minute > YESTERDAY + 360)
  t.equal(tooNew.length, 0, 'an open candle is no candle')
})

t.test('a coin without its newest candle does not hold up other new coins', async t => {
  const { start, clock, writer } = await openBench(t, exchanges)
  const batches: (readonly Sample[])[] = []
  const { status } = start([ETH, BTC], {
    around: fetchCandles => async range => {
      if (range.market === ETH.upbit && status().stored === 0) throw new Error('no candles yet')
      return fetchCandles(range)
    },
    writer: {
      write: batch => {
        batches.push(batch.samples)
        return writer.write(batch)
      },
    },
  })
  await passUntil(clock, 'something is stored', () => status().stored > 0)
  t.match(batches[0]?.at(-1), { symbol: 'BTC', minute: YESTERDAY + 360 })
})

t.test(
  'new coins show although no request of as many as are decided at once is answered in time',
  async t => {
    const { start, clock, writer } = await openBench(t, exchanges)
    const hanging = Array.from({ length: COINS_AT_ONCE }, (_, at): Coin => {
      return { symbol: `C${at}`, name: `C${at}`, upbit: `KRW-C${at}`, binance: `C${at}USDT` }
    })
    const batches: string[][] = []
    // BTC comes last.
    let order = 0
    start([...hanging, BTC], {
      random: () => order++ / 100,
      around: fetchCandles => async range => {
        if (!hanging.some(({ upbit, binance }) => [upbit, binance].includes(range.market)))
          return fetchCandles(range)
        // As the client of the exchanges does.
        await clock.wait(10_000)
        throw new Error('no answer within 10000 ms')
      },
      writer: {
        write: batch => {
          batches.push(batch.samples.map(({ symbol }) => symbol))
          return writer.write(batch)
        },
      },
    })
    const startedAt = clock.now()
    await passUntil(clock, 'new coins are stored', () => batches.length > 0)
    t.ok(batches[0]?.every(symbol => symbol === 'BTC'))
    t.ok(clock.now() - startedAt <= 20_000, `after ${clock.now() - startedAt} ms`)
  },
)

t.test(
  'an empty Redis is filled to the newest minute, all true, with hardly more requests than pages',
  async t => {
    const { start, check, clock, isWhole } = await openBench(t, exchanges)
    const { status } = start([BTC, ETH, KNC])
    const startedIn = minuteOf(clock.now())
    await passUntil(clock, 'all are whole', isWhole([BTC, ETH, KNC]), 25)
    // Redis has the last window a moment before backfill hears so.
    await eventually('backfill knows it', () => status().open === 0)
    t.equal(minuteOf(clock.now()), startedIn, 'no minute has passed, which would cost requests')
    t.match(await check([BTC, ETH, KNC], 357), { ...RIGHT, live: 0 })
    t.match(status(), { open: 0, refused: 0, troubled: [], problem: undefined })
    const quiet = requestsFor('upbit').filter(({ market }) => market === 'KRW-KNC').length
    t.comment(
      `${requestsFor('upbit').length} of Upbit, ${quiet} of them quiet; ${requestsFor('binance').length} of Binance`,
    )
    // 361 minutes lie in at most three blocks of a market; the youngest may be asked for again.
    t.ok(requestsFor('upbit').length - quiet <= 3 * 4 && quiet <= 4)
    // Two blocks of each market, and what tells the newest minute.
    t.ok(requestsFor('binance').length <= 3 * 2 + 2)
  },
)

t.test('a clock that is an hour ahead reads no open candle, and settles no minute in the future', async t => {
  const present = minuteOf(Date.now())
  const { start, reader, clock } = await openBench(t, exchanges, { at: present - YESTERDAY + 60 })
  // A day more than today, which may have just begun.
  const { status } = start([BTC], { days: 1 })
  await passUntil(clock, 'samples are stored', async () => status().stored > 100 && status().open < 70)
  const { entries } = await reader.readSamples('BTC', present - 30, present + 90)
  t.ok(entries.length > 0)
  t.ok((entries.at(-1)?.minute ?? 0) <= minuteOf(Date.now()))
  t.equal(status().settled, 0, 'no minute to come is settled as a gap')
})

// docs/faults.md, 13
t.test('gaps of any shape are filled, and a live sample is never replaced', async t => {
  const { start, reader, writer, clock, isWhole } = await openBench(t, exchanges)
  const live: Sample[] = []
  for (let minute = 0; minute < 360; minute++) {
    const isHole = minute < 3 || (minute > 100 && minute < 190) || minute % 17 === 0 || minute === 354
    if (!isHole) live.push(liveSample('BTC', YESTERDAY + minute))
  }
  await writer.write({ minute: YESTERDAY + 360, samples: live })
  start([BTC])
  await passUntil(clock, 'it is whole', isWhole([BTC]))
  t.strictSame(await reader.readOpenMinutes('BTC', YESTERDAY, YESTERDAY + 361), [])
  const { entries } = await reader.readSamples('BTC', YESTERDAY, YESTERDAY + 361)
  t.strictSame(
    entries.filter(({ source }) => source === 'live'),
    live,
    'every live sample as it was',
  )
})

t.test('outages stay gaps, and are not asked for again', async t => {
  const { start, check, clock, isWhole } = await openBench(t, exchanges)
  for (const outage of [
    { exchange: 'upbit', from: at(60) - 20_000, to: at(90) },
    { exchange: 'binance', from: at(150), to: at(200) + 10_000, klines: 'none' },
    { exchange: 'binance', from: at(220), to: at(230) },
  ] as const) {
    simulator.faults.set({ kind: 'outage', ...outage })
  }
  const { status } = start([BTC, KNC])
  await passUntil(clock, 'both are whole', isWhole([BTC, KNC]))
  t.match(await check([BTC], 357), RIGHT)
  // KNC's price is not carried across missing candles of Binance: its next trade there ends its gap.
  const candleOf = (minute: number) =>
    simulator.prices.candle('binance', KNC.binance, at(minute), clock.now())
  let tradedAt = 200
  while ((candleOf(tradedAt)?.volume ?? 0) === 0) tradedAt += 1
  const missing = Array.from({ length: tradedAt - 200 }, (_, index) =>
    formatTimestamp(YESTERDAY + 201 + index),
  )
  const quiet = await check([KNC], 357)
  t.strictSame(
    quiet.findings,
    missing.map(minute => `lost: KNC ${minute} is missing`),
  )
  t.ok(status().settled >= 2 * (30 + 50 + 10), 'minutes without any trade')

  requests.length = 0
  const before = status().stored
  await passUntil(clock, 'ten minutes', () => clock.now() > at(372), 1_000)
  t.ok(status().stored > before, 'new minutes were filled')
  // Each look: the newest minute, its candles of five markets, and a comparison.
  t.ok(requests.length <= 12 * 7, `${requests.length} requests in ten minutes`)
})

// docs/faults.md, 41
t.test('one coin’s refusal or failure delays that coin alone, and it waits longer and longer', async t => {
  for (const fault of [
    { status: 404, on: 'rest' },
    { status: 500, on: 'rest' },
  ] as const) {
    const { start, check, clock, isWhole } = await openBench(t, exchanges)
    simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: 'KRW-ETH', ...fault })
    const { status } = start([ETH, BTC, KNC])
    await passUntil(clock, 'the others are whole', isWhole([BTC, KNC]))
    await passUntil(clock, 'it waits', () => status().troubled.length > 0)
    t.match(await check([BTC, KNC], 357), RIGHT)
    t.match(status(), {
      troubled: [{ symbol: 'ETH', reason: new RegExp(`HTTP ${fault.status}`) }],
      problem: undefined,
    })
    const asked = () => requestsFor('upbit').filter(({ market }) => market === 'KRW-ETH').length
    const first = asked()
    await clock.advance(3_500_000)
    await passUntil(clock, 'an hour', () => clock.now() > at(420))
    t.ok(asked() - first <= 30, `${asked() - first} attempts in its first hour`)
    simulator.faults.clear()
    await passUntil(clock, 'it is whole too', () => status().troubled.length === 0, 5_000)
    await passUntil(clock, 'and everything is filled', () => status().open === 0, 1_000)
    t.match(await check([ETH], 361), RIGHT)
  }
})

// docs/faults.md, 42
t.test('minutes that Redis refuses are not open, and not fetched', async t => {
  const { start, raw, writer, clock } = await openBench(t, exchanges, { at: 120 })
  const live = Array.from({ length: 120 }, (_, minute) => liveSample('BTC', YESTERDAY + minute))
  await writer.write({ minute: YESTERDAY + 119, samples: live })
  const [first = ''] = (await raw.keys('{kp}:samples:BTC:*')).sort()
  await raw.del(first)
  const { status } = start([BTC])
  await passUntil(clock, 'ten minutes', () => clock.now() > at(132), 1_000)
  t.match(status(), { refused: 0, open: 0 })
  const asked = requestsFor('upbit').filter(({ market }) => market === 'KRW-BTC').length
  t.ok(asked <= 14, `${asked} requests, for new minutes only`)
})

t.test('backfill keeps to the wait that a 503 states, but not to hours', async t => {
  const { start, clock, isWhole } = await openBench(t, exchanges)
  const refuse = (retryAfter: number) => {
    simulator.faults.clear()
    simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 503, on: 'rest', retryAfter })
  }
  refuse(100)
  const { status } = start([BTC])
  const isHeldUp = () => status().candleRequests.some(({ problem }) => problem !== undefined)
  await passUntil(clock, 'it is held up', isHeldUp, 1_000)
  const asked = requestsFor('upbit').length
  const until = clock.now() + 97_000
  await passUntil(clock, 'it waits', () => clock.now() >= until, 1_000)
  t.equal(requestsFor('upbit').length, asked, 'nothing is asked for meanwhile')
  refuse(3_600)
  await passUntil(clock, 'it asks again', () => requestsFor('upbit').length > asked, 1_000)
  await passUntil(clock, 'three minutes', () => clock.now() > at(366), 1_000)
  simulator.faults.clear()
  const wellAt = clock.now()
  await passUntil(clock, 'all is filled', isWhole([BTC]), 1_000)
  t.ok(clock.now() - wellAt <= 60_000, `${clock.now() - wellAt} ms later`)
})

for (const [title, appendonly] of [
  ['Redis away in the middle of a pass: backfill is held up, says why, and nothing is lost', true],
  ['a Redis that comes back empty, without functions, is filled again', false],
] as const) {
  t.test(title, async t => {
    const testRedis = await startRedis(t, { appendonly })
    const { start, clock, check, redis, writer, isWhole } = await openBench(t, exchanges, {
      redis: testRedis,
    })
    const { status } = start([BTC, ETH])
    await passUntil(clock, 'the pass has begun', () => status().stored > 0)
    await testRedis.stop()
    await passUntil(clock, 'it noticed', () => status().problem !== undefined)
    t.match(status().problem, /127\.0\.0\.1|connect|closed/i)
    await testRedis.restart()
    await eventually('Redis is back', () => !redis.problem())
    // As an ingester's announcement does, which loads the library.
    await writer.verify()
    await passUntil(clock, 'it goes on', () => status().problem === undefined, 1_000)
    await passUntil(clock, 'both are whole', isWhole([BTC, ETH]), 1_000)
    await passUntil(clock, 'the newest minutes, too', () => clock.now() > at(367), 1_000)
    t.equal(status().problem, undefined)
    t.match(await check([BTC, ETH], 361), RIGHT)
  })
}

t.test('a long outage of Redis costs backfill a few lines', async t => {
  const { start, clock } = await openBench(t, exchanges)
  const log = createMemoryLog()
  let reads = 0
  const away = () => {
    reads += 1
    throw new Error('connection lost')
  }
  start([BTC], { log, reader: { readOpenMinutes: async () => away(), readSamples: async () => away() } })
  await passUntil(clock, 'thirty failures', () => reads > 30, 1_000)
  t.equal(log.lines.filter(({ message }) => message.startsWith('backfill failed')).length, 2)
})

t.test('a response that is cut off is asked for again', async t => {
  const { start, clock, check } = await openBench(t, exchanges, { at: 30 })
  simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode: 'truncated', frames: 3, path: '/v1/candles' })
  const { status } = start([BTC])
  await passUntil(clock, 'a pass is over', () => status().open === 0 && status().stored > 0)
  t.match(await check([BTC], 31), RIGHT)
})

t.test('ends at once in the middle of a request that is never answered', async t => {
  const { start, clock } = await openBench(t, exchanges, { at: 30 })
  simulator.faults.set({ kind: 'refuse', exchange: 'both', status: 'hang', on: 'rest' })
  const { stop } = start([BTC])
  await passUntil(clock, 'a request hangs', () => requests.length > 0)
  await stop()
  t.equal(clock.waiting, 0, 'no timer is left')
})

t.test(
  'a minute that the feeds have missed is filled ten seconds after its end, others when they are three minutes old',
  async t => {
    const { start, clock, reader, writer, isWhole } = await openBench(t, exchanges)
    const { noteMinute } = start([BTC, ETH])
    await passUntil(clock, 'it is whole', isWhole([BTC]))
    const has = async (symbol: string, minute: number) => {
      return (await reader.readOpenMinutes(symbol, YESTERDAY + minute, YESTERDAY + minute + 1)).length === 0
    }
    // ETH's sample of the minute waits for the next one, BTC's is a gap.
    clock.step(at(361) + 5_000 - clock.now())
    noteMinute({ minute: YESTERDAY + 361, waiting: ['ETH'] })
    await passUntil(clock, 'the gap is filled', () => has('BTC', 361))
    t.ok(clock.now() >= at(361) + 10_000, 'not before its candles are complete')
    t.ok(clock.now() < at(361) + 30_000, `${clock.now() - at(361)} ms after its end`)
    t.notOk(await has('ETH', 361), 'what may still be stored is left to the feeds')
    await writer.write({ minute: YESTERDAY + 361, samples: [liveSample('ETH', YESTERDAY + 361)] })
    await passUntil(clock, 'the next minute, which nobody named', () => has('BTC', 362), 1_000)
    t.ok(clock.now() >= at(365) && clock.now() <= at(367), `${clock.now() - at(362)} ms after its end`)
  },
)

// docs/faults.md, 39
t.test('a minute known as halted is never filled, whoever saw the halt', async t => {
  const { start, clock, reader, writer, isWhole } = await openBench(t, exchanges)
  const halt = async (minute: number) => {
    const settled = [{ symbol: 'BTC', minute: YESTERDAY + minute, reason: 'halted' }] as const
    await writer.write({ minute: YESTERDAY + minute, samples: [], settled })
  }
  // An ingester that has ended since.
  for (const minute of [301, 302]) await halt(minute)
  start([BTC])
  await passUntil(clock, 'it is whole', isWhole([BTC]))
  // One that runs beside it.
  for (const minute of [361, 362]) await halt(minute)
  const has = async (minute: number) => {
    return (await reader.readSamples('BTC', YESTERDAY + minute, YESTERDAY + minute + 1)).entries.length === 1
  }
  await passUntil(clock, 'later minutes are filled', () => has(364), 1_000)
  const { entries } = await reader.readSamples('BTC', YESTERDAY + 300, YESTERDAY + 365)
  const filled = new Set(entries.map(({ minute }) => minute - YESTERDAY))
  t.strictSame(
    Array.from({ length: 65 }, (_, at) => 300 + at).filter(minute => !filled.has(minute)),
    [301, 302, 361, 362],
  )
})

// docs/faults.md, 39
t.test('a minute from before a halt, filled during it, does not bring the coin back', async t => {
  const { start, clock, reader, writer, isWhole } = await openBench(t, exchanges)
  const listed = async () => (await reader.readBoard()).rows.map(({ symbol }) => symbol)
  await writer.track([BTC, ETH])
  const minute = YESTERDAY + 360
  const samples = ['BTC', 'ETH'].map(symbol => liveSample(symbol, minute - 2))
  await writer.write({ minute: minute - 2, samples })
  t.strictSame(await listed(), ['BTC', 'ETH'])
  const settled = [{ symbol: 'ETH', minute, reason: 'halted' }] as const
  await writer.write({ minute, samples: [], settled, halted: ['ETH'] })
  t.strictSame(await listed(), ['BTC'])
  start([BTC, ETH])
  await passUntil(clock, 'both are whole', isWhole([BTC, ETH]))
  const { entries } = await reader.readSamples('ETH', minute - 1, minute)
  t.equal(entries.length, 1, 'the minute before is filled')
  t.strictSame(await listed(), ['BTC'])
})

t.test(
  'an outage stays open until later candles show that it is over; until then only the markets that always trade are asked for',
  async t => {
    const { start, clock, check, isWhole } = await openBench(t, exchanges)
    const { status, noteMinute } = start([BTC, ETH, KNC])
    await passUntil(clock, 'all are whole', isWhole([BTC, ETH, KNC]))
    await passUntil(clock, 'some minutes', () => clock.now() > at(364), 1_000)
    simulator.faults.set({ kind: 'outage', exchange: 'upbit', from: at(364), to: at(380) })
    const hasBegun = () => clock.now() > at(368) && status().open === 0
    await passUntil(clock, 'the outage has begun', hasBegun, 1_000)
    requests.length = 0
    // A quiet coin may have had no price before.
    const { settled } = status()
    for (let minute = 369; minute <= 380; minute++) {
      clock.step(Math.max(0, at(minute) + 6_000 - clock.now()))
      noteMinute({ minute: YESTERDAY + minute, waiting: [] })
      await passUntil(clock, 'a quarter of a minute', () => clock.now() > at(minute) + 20_000, 1_000)
    }
    const asked = () => requestsFor('upbit').filter(({ market }) => market === 'KRW-ETH').length
    t.equal(asked(), 0)
    t.equal(status().settled, settled, 'nothing is settled yet')
    t.ok(requests.length <= 12 * 6, `${requests.length} requests in twelve minutes`)
    await passUntil(clock, 'it is over', () => status().settled >= settled + 3 * 16, 1_000)
    t.ok(clock.now() < at(388), `settled ${clock.now() - at(380)} ms after its end`)
    await passUntil(clock, 'the time after it is filled', () => clock.now() > at(395), 1_000)
    t.match(await check([BTC, ETH], 385), RIGHT)
    t.ok(asked() <= 20, `${asked()} requests for a coin`)
  },
)

t.test('coins of a first start are compared before anything of them is stored', async t => {
  const { start, clock, reader, writer } = await openBench(t, exchanges)
  await writer.verify()
  const untested: readonly Coin[] = [BTC, ETH, KNC]
  const tracked: Coin[] = []
  const compared: string[][] = []
  start([], {
    quarantine: {
      get tracked() {
        return tracked
      },
      get untested() {
        return untested.filter(coin => !tracked.includes(coin))
      },
      judgeMinute: samples => {
        if (tracked.length > 0) return samples
        compared.push(samples.map(({ symbol }) => symbol).sort())
        tracked.push(BTC, ETH)
        return samples.filter(({ symbol }) => symbol !== 'KNC')
      },
    },
  })
  await passUntil(clock, 'those that passed are filled', async () => {
    return (await reader.readOpenMinutes('ETH', YESTERDAY, YESTERDAY + 361)).length === 0
  })
  t.match(compared, [['BTC', 'ETH']], 'all whose candle is there, together')
  t.equal((await reader.readSamples('KNC', YESTERDAY, YESTERDAY + 361)).entries.length, 0)
})

t.test('a Redis with the other kind of prices holds up backfill, and is named', async t => {
  const { start, clock } = await openBench(t, exchanges, { at: 30 })
  const { status } = start([BTC], {
    writer: { write: () => Promise.reject(new KimchiError('KIMCHI_ERR_PRICES_KIND', 'holds live prices')) },
  })
  await passUntil(clock, 'it noticed', () => status().problem !== undefined)
  t.equal(status().problem, 'holds live prices')
})
