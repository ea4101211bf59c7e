import { type Coin, dateOf, minuteOf, minuteStart, premiumE4, type Sample } from '@kimchi/core'
import type { CandleRequest } from '@kimchi/feeds'
import { eventually, passUntil, startRedis } from '@kimchi/testkit'
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
const { simulator, requestsFor } = exchanges

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

// docs/faults.md, 13
t.test('gaps of any shape are filled, and a live sample is never replaced', async t => {
  const { start, reader, writer, clock, isWhole } = await openBench(t, exchanges)
  const live: Sample[] = []
  for (let minute = 0; minute < 360; minute++) {
    const isHole = minute < 3 || (minute > 100 && minute < 190) || minute % 17 === 0 || minute === 354
    if (!isHole) live.push(liveSample('BTC', YESTERDAY + minute))
  }
  await writer.write({ minute: YESTERDAY + 360, samples: live })
  const { status } = start([BTC])
  await passUntil(clock, 'it is whole', isWhole([BTC]))
  await passUntil(clock, 'then the drift is measured', () => (status().drift?.compared ?? 0) > 0)
  t.strictSame(await reader.readOpenMinutes('BTC', YESTERDAY, YESTERDAY + 361), [])
  const { entries } = await reader.readSamples('BTC', YESTERDAY, YESTERDAY + 361)
  t.strictSame(
    entries.filter(({ source }) => source === 'live'),
    live,
    'every live sample as it was',
  )
})

t.test(
  'a Redis that comes back empty, without functions, is filled again; until then it is named',
  async t => {
    const testRedis = await startRedis(t, { appendonly: false })
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
  },
)

t.test(
  'a minute that the feeds have missed is filled ten seconds after its end, others when they are three minutes old',
  async t => {
    const { start, clock, reader, isWhole } = await openBench(t, exchanges)
    const { noteMinute } = start([BTC, ETH])
    await passUntil(clock, 'it is whole', isWhole([BTC]))
    const has = async (symbol: string, minute: number) => {
      return (await reader.readOpenMinutes(symbol, YESTERDAY + minute, YESTERDAY + minute + 1)).length === 0
    }
    clock.step(at(361) + 5_000 - clock.now())
    noteMinute({ minute: YESTERDAY + 361, gaps: [] })
    await passUntil(clock, 'the gap is filled', () => has('BTC', 361))
    t.ok(clock.now() >= at(361) + 10_000, 'not before its candles are complete')
    t.ok(clock.now() < at(361) + 30_000, `${clock.now() - at(361)} ms after its end`)
    await passUntil(clock, 'the next minute, which nobody named', () => has('BTC', 362), 1_000)
    t.ok(clock.now() >= at(365) && clock.now() <= at(367), `${clock.now() - at(362)} ms after its end`)
  },
)

// docs/faults.md, 89
t.test('minutes that ALLOW opens, and whose candles make no sample, are asked for once', async t => {
  const { start, clock, redis, isWhole } = await openBench(t, exchanges)
  simulator.faults.set({ kind: 'outage', exchange: 'upbit', from: at(100), to: at(110) })
  const key = `{kp}:settled:ETH:${dateOf(YESTERDAY).replaceAll('-', '')}01`
  for (const [minute, reason] of [
    [104, 'implausible'],
    [105, 'implausible, beyond a factor of four'],
  ] as const) {
    await redis.call('ZADD', key, YESTERDAY + minute, `${YESTERDAY + minute} ${reason}`)
  }
  const asked: CandleRequest[] = []
  start([{ ...ETH, allowed: true }], {
    around: fetchCandles => request => {
      asked.push(request)
      return fetchCandles(request)
    },
  })
  await passUntil(clock, 'they are decided', isWhole([ETH]))
  await passUntil(clock, 'an hour has passed', () => clock.now() > at(430), 1_000)
  const pages = asked.filter(({ market, last = 0 }) => market === 'KRW-ETH' && last < YESTERDAY + 200)
  t.ok(pages.length > 0 && pages.length <= 2, `${pages.length} requests for their candles, all in all`)
  const reasons = await redis.call('ZRANGEBYSCORE', key, YESTERDAY + 104, YESTERDAY + 105)
  t.strictSame(reasons, [`${YESTERDAY + 104} upbit-down`, `${YESTERDAY + 105} upbit-down`])
})
