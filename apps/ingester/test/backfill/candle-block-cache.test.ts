import { type Exchange, type Market, minuteOf, minuteStart } from '@kimchi/core'
import type { CandlePage, CandleRequest, MinuteCandle } from '@kimchi/feeds'
import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { CandleBlock, missingOf } from '../../src/backfill/candle-block.ts'
import { CandleBlockCache } from '../../src/backfill/candle-block-cache.ts'

/** A multiple of both exchanges' blocks. */
const D = 16_000 * 1_800
const NOW = D + 1_100

/** Markets that trade each minute, or `quiet` minutes apart; answers hold what the exchanges' do. */
function open({ quiet = 1, binanceNow = () => Number.POSITIVE_INFINITY } = {}) {
  /** Opening minutes that the answers about a market lack. */
  const lacking = new Map<Market, (open: number) => boolean>()
  const clock = createManualClock(minuteStart(NOW) + 10_000)
  const log = createMemoryLog()
  const asked: CandleRequest[] = []
  const broken = new Set<Market>()
  /** How long its requests wait at the door. */
  const upbit = { heldMs: 0 }
  /** When a row that cannot be read opens, by market. */
  const spoilt = new Map<Market, number>()
  const rest = {
    fetchCandles: async (request: CandleRequest) => {
      const { exchange, market, count, last = minuteOf(clock.now()) + 1 } = request
      asked.push(request)
      // Not before it is known to be under way.
      if (exchange === 'upbit') await Promise.resolve().then(() => clock.advance(upbit.heldMs))
      if (broken.has(market)) throw new Error('broken')
      const step = exchange === 'upbit' ? quiet : 1
      const newest = Math.floor(Math.min(last - 1, binanceNow()) / step) * step
      const opens = Array.from({ length: count }, (_, back) => newest - back * step).reverse()
      const lacks = lacking.get(market) ?? (() => false)
      const page = opens.filter(open => !lacks(open)).map((open): MinuteCandle => [open + 1, 1, 1])
      const bad = spoilt.get(market)
      if (bad !== undefined) return unreadableAt(bad, page)
      return { candles: page }
    },
  }
  const blocks = new CandleBlockCache(rest, { clock, log })
  const blockOf = (exchange: Exchange, market: Market, minute: number) =>
    blocks.blockOf(exchange, market, minute)
  const askedFor = (market: Market) => asked.filter(request => request.market === market)
  return { blocks, blockOf, lacking, clock, log, asked, askedFor, broken, spoilt, upbit }
}

t.test('a block is one request, whoever needs it and however often', async t => {
  const { blockOf, askedFor } = open()
  await Promise.all([D + 10, D + 199, D + 50].map(minute => blockOf('upbit', 'KRW-A', minute)))
  await blockOf('upbit', 'KRW-A', D)
  t.strictSame(
    askedFor('KRW-A').map(({ count, last }) => [count, last]),
    [[200, D + 199]],
    'the candles that decide D to D + 199',
  )
  await blockOf('binance', 'AUSDT', D + 799)
  await blockOf('binance', 'AUSDT', D)
  t.strictSame(
    askedFor('AUSDT').map(({ count, last }) => [count, last]),
    [[859, D + 799]],
    'with an hour to carry from before it',
  )
})

t.test('earlier candles in an answer of Upbit are carried into the block', async t => {
  const { blockOf, askedFor } = open({ quiet: 55 })
  const block = await blockOf('upbit', 'KRW-A', D + 30)
  const [minute = 0] = block.lastTrade(D + 1) ?? []
  t.ok(minute < D && minute >= D - 55)
  t.equal(askedFor('KRW-A').length, 1)
})

t.test('a block is fetched again when it is young and does not reach the minute, once a minute', async t => {
  const { blockOf, clock, askedFor } = open()
  const ask = async (minute: number) => {
    await blockOf('upbit', 'KRW-A', minute)
    return askedFor('KRW-A').length
  }
  t.equal(await ask(NOW - 1), 1)
  t.equal(await ask(NOW), 1, 'it holds all that is complete')
  t.match(askedFor('KRW-A')[0], { count: 200, last: NOW })
  await clock.advance(60_000)
  t.equal(await ask(NOW), 1, 'it holds the candle')
  t.equal(await ask(NOW + 1), 2)
  t.equal(await ask(NOW + 1), 2)
})

t.test(
  'a missing candle is fetched again every minute, until an answer of ten minutes later lacks it, too',
  async t => {
    const { blockOf, clock, askedFor } = open({ quiet: 700 })
    for (let minutes = 0; minutes <= 15; minutes++) {
      for (let calls = 0; calls < 3; calls++) await blockOf('upbit', 'KRW-A', NOW)
      t.equal(askedFor('KRW-A').length, Math.min(minutes, 10) + 1)
      await clock.advance(60_000)
    }
  },
)

// docs/faults.md, 57
t.test('270 blocks are kept; the least recently used ones are dropped', async t => {
  const { blockOf, asked, askedFor } = open()
  const blocks = Array.from({ length: 271 }, (_, at) => D - 200 * at)
  const [first = 0, second = 0, ...others] = blocks
  for (const minute of [first, second, first, ...others, first]) await blockOf('upbit', 'KRW-BTC', minute)
  t.equal(askedFor('KRW-BTC').length, 271)
  await blockOf('upbit', 'KRW-BTC', second)
  t.equal(askedFor('KRW-BTC').length, 272)
  t.equal(asked.length, 273, 'and one for the newest minute')
})

t.test('the newest minute is known from Binance, whatever our clock says', async t => {
  t.equal(await open().blocks.newestMinute(), NOW)
  const ahead = open({ binanceNow: () => NOW - 60 })
  t.equal(await ahead.blocks.newestMinute(), NOW - 60, 'our clock is an hour ahead')
  await ahead.blocks.blockOf('upbit', 'KRW-A', NOW - 60)
  t.equal(ahead.askedFor('KRW-A')[0]?.last, NOW - 60, 'no open candle is asked for')
  const context = { clock: createManualClock(minuteStart(NOW)), log: createMemoryLog() }
  const empty = new CandleBlockCache({ fetchCandles: async () => ({ candles: [] }) }, context)
  await t.rejects(empty.newestMinute(), { message: 'binance has no candle of BTCUSDT' })
})

t.test('a candle is complete ten seconds after its end, not sooner', async t => {
  const { blocks, clock } = open()
  clock.step(-1)
  t.equal(await blocks.newestMinute(), NOW - 1)
})

t.test('a candle without volume is no trade', async t => {
  const block = new CandleBlock(
    [
      [D, 1, 1],
      [D + 1, 1, 0],
    ],
    D + 20,
  )
  t.strictSame([block.newestCandle, block.newestTrade], [D + 1, D])
  t.strictSame([block.isEmpty, new CandleBlock([[D, 1, 0]], D + 20).isEmpty], [false, true])
})

// docs/faults.md, 81
t.test('an empty page counts when another one, asked for a minute after it came, is empty too', async t => {
  const { blockOf, lacking, clock, askedFor, upbit } = open()
  lacking.set('KRW-A', () => true)
  upbit.heldMs = 300_000
  for (const seconds of [0, 59, 1]) {
    await clock.advance(seconds * 1_000)
    const block = await blockOf('upbit', 'KRW-A', D + 100)
    const isConfirmed = seconds === 1
    t.strictSame([block.knows(D + 100), block.isEmpty], [isConfirmed, isConfirmed])
    t.equal(askedFor('KRW-A').length, isConfirmed ? 2 : 1)
  }
})

// docs/faults.md, 81
t.test('that nothing is older than a short page of Upbit counts when another one is as short', async t => {
  for (const isShortAgain of [true, false]) {
    const { blockOf, lacking, clock, askedFor } = open()
    lacking.set('KRW-A', open => open < D + 50)
    const first = await blockOf('upbit', 'KRW-A', D + 199)
    t.strictSame([first.knows(D + 50), first.knows(D + 51)], [false, true])
    if (!isShortAgain) lacking.clear()
    await clock.advance(60_000)
    const second = await blockOf('upbit', 'KRW-A', D + 199)
    t.strictSame([second.knows(D + 50), second.traded(D + 50)], [true, !isShortAgain])
    await clock.advance(600_000)
    await blockOf('upbit', 'KRW-A', D + 199)
    t.equal(askedFor('KRW-A').length, 2)
  }
})

t.test('a block that waits for its second answer is kept, and through a failed request', async t => {
  const { blockOf, lacking, clock, broken } = open()
  lacking.set('AUSDT', open => open === D + 99)
  await blockOf('binance', 'AUSDT', D + 110)
  for (let at = 0; at < 300; at++) await blockOf('upbit', 'KRW-BTC', D - 200 * at)
  await clock.advance(60_000)
  broken.add('AUSDT')
  await t.rejects(blockOf('binance', 'AUSDT', D + 110))
  broken.clear()
  t.ok((await blockOf('binance', 'AUSDT', D + 110)).knows(D + 100))
})

/** A page of which a row cannot be read that opens at one minute. */
const unreadableAt = (open: number, candles: readonly MinuteCandle[]): CandlePage => ({
  candles: candles.filter(([minute]) => minute !== open + 1),
  unreadable: [open + 1],
  message: 'a row cannot be read',
})

// docs/faults.md, 103
t.test(
  'of a page with a bad row its minute alone stays open, and is asked for again once a minute',
  async t => {
    for (const [exchange, market] of [
      ['upbit', 'KRW-A'],
      ['binance', 'AUSDT'],
    ] as const) {
      const { blocks, blockOf, clock, log, spoilt, askedFor } = open()
      spoilt.set(market, D + 50)
      for (let minutes = 1; minutes <= 3; minutes++) {
        const block = await blockOf(exchange, market, D + 100)
        const known = [D + 50, D + 51, D + 52].map(minute => block.knows(minute))
        t.strictSame(known, [true, false, true])
        await blockOf(exchange, market, D + 100)
        t.equal(askedFor(market).length, minutes)
        t.match(blocks.unreadable(), { pages: { [exchange]: minutes }, reasons: ['a row cannot be read'] })
        await clock.advance(60_000)
      }
      t.match(log.lines, [{ message: /^candles cannot be read/, fields: { reason: 'a row cannot be read' } }])
      spoilt.clear()
      t.ok((await blockOf(exchange, market, D + 100)).knows(D + 51))
      t.strictSame(blocks.unreadable().reasons, [])
    }
  },
)

// docs/faults.md, 103
t.test(
  'no price is carried across a row that cannot be read, nor is the market said to be unlisted',
  async t => {
    const block = new CandleBlock([[D, 1, 1]], D + 90, new Map([[D + 2, 'unreadable']]), 'bad')
    t.strictSame([block.knows(D), block.knows(D + 1)], [true, true])
    t.strictSame([block.knows(D + 2), block.knows(D + 59)], [false, false])
    t.notOk(block.lacks(D + 2), 'which would mean that Binance was down')
    t.notOk(new CandleBlock([], D + 90, new Map([[D + 2, 'unreadable']]), 'bad').isEmpty)
  },
)

// docs/faults.md, 103
t.test('a full page of Upbit with two rows of a minute says nothing of what precedes it', async t => {
  const candles = Array.from({ length: 198 }, (_, at): MinuteCandle => [D + 2 + at, 1, 1])
  const asked = { first: D - 60, last: D + 199, previous: undefined }
  const of = { exchange: 'upbit', count: 200 } as const
  const missing = missingOf(of, { candles, unreadable: [D + 1, D + 1] }, asked)
  t.notOk(new CandleBlock(candles, D + 300, missing, 'two rows').knows(D))
})

// docs/faults.md, 103
t.test('the newest minute is known although the newest row cannot be read', async t => {
  const { blocks, spoilt } = open()
  spoilt.set('BTCUSDT', NOW)
  t.equal(await blocks.newestMinute(), NOW - 1)
})

// docs/faults.md, 81
t.test(
  'a missing candle of Binance is confirmed when a second answer, a minute later, lacks it too',
  async t => {
    const { blockOf, lacking, clock, askedFor } = open()
    lacking.set('AUSDT', open => open === D + 99)
    const first = await blockOf('binance', 'AUSDT', D + 110)
    t.strictSame([first.knows(D + 99), first.knows(D + 100), first.knows(D + 101)], [true, false, true])
    await clock.advance(60_000)
    const second = await blockOf('binance', 'AUSDT', D + 110)
    t.strictSame([second.knows(D + 100), second.lacks(D + 100)], [true, true])
    t.equal(askedFor('AUSDT').length, 2)
    await clock.advance(600_000)
    await blockOf('binance', 'AUSDT', D + 110)
    t.equal(askedFor('AUSDT').length, 2, 'what is confirmed is not asked for again')
  },
)

// docs/faults.md, 81
t.test('no price is carried across a missing candle of Binance', async t => {
  const candles: MinuteCandle[] = [
    [D, 1, 1],
    [D + 2, 1, 0],
  ]
  const block = new CandleBlock(candles, D + 20, new Map([[D + 1, 'confirmed']]))
  t.strictSame(block.lastTrade(D), [D, 1, 1])
  t.equal(block.lastTrade(D + 2), undefined)
})
