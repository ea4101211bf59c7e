import { type Exchange, type Market, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import type { CandleRequest, MinuteCandle } from '@kimchi/feeds'
import t from 'tap'
import { CandleBlock } from '../../src/backfill/candle-block.ts'
import { CandleBlockCache } from '../../src/backfill/candle-block-cache.ts'

/** A multiple of both exchanges' blocks. */
const D = 16_000 * 1_800
const NOW = D + 1_100

const { signal } = new AbortController()

/** Markets that trade each minute, or `quiet` minutes apart; answers hold what the exchanges' do. */
function open({ quiet = 1, binanceNow = () => Number.POSITIVE_INFINITY } = {}) {
  /** Opening minutes that the answers about a market lack. */
  const lacking = new Map<Market, (open: number) => boolean>()
  const clock = createManualClock(minuteStart(NOW) + 10_000)
  const asked: CandleRequest[] = []
  const broken = new Set<Market>()
  const blocks = new CandleBlockCache(
    async request => {
      const { exchange, market, count, before = minuteOf(clock.now()) + 1 } = request
      asked.push(request)
      if (broken.has(market)) throw new Error('broken')
      const step = exchange === 'upbit' ? quiet : 1
      const newest = Math.floor(Math.min(before - 1, binanceNow()) / step) * step
      const candles = Array.from({ length: count }, (_, back): MinuteCandle => [newest - back * step, 1, 1])
      const lacks = lacking.get(market) ?? (() => false)
      return { candles: candles.reverse().filter(([open]) => !lacks(open)) }
    },
    { clock, signal },
  )
  const blockOf = (exchange: Exchange, market: Market, minute: number) =>
    blocks.blockOf(exchange, market, minute)
  /** A block that a second answer confirms. */
  const confirmedBlockOf = async (exchange: Exchange, market: Market, minute: number) => {
    const asking = blocks.blockOf(exchange, market, minute)
    await clock.advance(0)
    await clock.advance(60_000)
    return asking
  }
  const askedFor = (market: Market) => asked.filter(request => request.market === market)
  return { blocks, blockOf, confirmedBlockOf, lacking, clock, asked, askedFor, broken }
}

t.test('a block is one request, whoever needs it and however often', async t => {
  const { blockOf, askedFor } = open()
  await Promise.all([D + 10, D + 199, D + 50].map(minute => blockOf('upbit', 'KRW-A', minute)))
  await blockOf('upbit', 'KRW-A', D)
  t.strictSame(
    askedFor('KRW-A').map(({ count, before }) => [count, before]),
    [[200, D + 199]],
    'the candles that decide D to D + 199',
  )
  await blockOf('binance', 'AUSDT', D + 799)
  await blockOf('binance', 'AUSDT', D)
  t.strictSame(
    askedFor('AUSDT').map(({ count, before }) => [count, before]),
    [[860, D + 799]],
    'with an hour to carry from before it',
  )
})

t.test('earlier candles in an answer of Upbit are carried into the block', async t => {
  const { blockOf, askedFor } = open({ quiet: 55 })
  const block = await blockOf('upbit', 'KRW-A', D + 30)
  const [openMinute = 0] = block.lastTrade(D + 1) ?? []
  t.ok(openMinute < D - 1 && openMinute >= D - 56)
  t.equal(askedFor('KRW-A').length, 1)
})

t.test('a block is fetched again while it is young, once a minute', async t => {
  const { blockOf, clock, askedFor } = open()
  const ask = async (minute: number) => {
    await blockOf('upbit', 'KRW-A', minute)
    return askedFor('KRW-A').length
  }
  t.equal(await ask(NOW - 1), 1)
  t.equal(await ask(NOW), 1, 'it holds all that is complete')
  t.match(askedFor('KRW-A')[0], { count: 200, before: NOW })
  await clock.advance(60_000)
  t.equal(await ask(NOW), 2, 'it may hold a late candle now')
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

t.test('coins push out no block that all of them need', async t => {
  const { blockOf, askedFor } = open()
  for (let coin = 0; coin < 300; coin++) {
    await blockOf('upbit', 'KRW-USDT', D)
    await blockOf('upbit', `KRW-${coin}`, D)
  }
  t.equal(askedFor('KRW-USDT').length, 1)
})

t.test('a request that failed is repeated by the next caller who needs the block', async t => {
  const { blocks, broken } = open()
  broken.add('KRW-A')
  await t.rejects(blocks.blockOf('upbit', 'KRW-A', D), { message: 'broken' })
  broken.clear()
  t.ok(await blocks.blockOf('upbit', 'KRW-A', D))
})

t.test('the newest minute is known from Binance, whatever our clock says', async t => {
  t.equal(await open().blocks.newestMinute(), NOW)
  const ahead = open({ binanceNow: () => NOW - 60 })
  t.equal(await ahead.blocks.newestMinute(), NOW - 60, 'our clock is an hour ahead')
  await ahead.blocks.blockOf('upbit', 'KRW-A', NOW - 60)
  t.equal(ahead.askedFor('KRW-A')[0]?.before, NOW - 60, 'no open candle is asked for')
  const empty = new CandleBlockCache(async () => ({ candles: [] }), {
    clock: createManualClock(minuteStart(NOW)),
    signal,
  })
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
  t.strictSame([block.isEmpty, new CandleBlock([], D + 20).isEmpty], [false, true])
})

// docs/faults.md, 81
t.test('an empty page counts when another one, a minute later, is empty too', async t => {
  const { blockOf, lacking, clock, askedFor } = open()
  lacking.set('KRW-A', () => true)
  const asking = blockOf('upbit', 'KRW-A', D + 100)
  await clock.advance(0)
  await clock.advance(59_999)
  t.equal(askedFor('KRW-A').length, 1)
  await clock.advance(1)
  const block = await asking
  t.match({ knows: block.knows(D + 100), isEmpty: block.isEmpty }, { knows: true, isEmpty: true })
  t.equal(askedFor('KRW-A').length, 2)
})

t.test('once it is confirmed that a market has no candles, each further block costs one request', async t => {
  for (const [exchange, market] of [
    ['upbit', 'KRW-A'],
    ['binance', 'AUSDT'],
  ] as const) {
    const { blockOf, confirmedBlockOf, lacking, askedFor } = open()
    lacking.set(market, () => true)
    await confirmedBlockOf(exchange, market, D + 900)
    for (const minute of [D + 100, D - 700]) {
      const block = await blockOf(exchange, market, minute)
      t.match({ knows: block.knows(minute), isEmpty: block.isEmpty }, { knows: true, isEmpty: true })
    }
    t.equal(askedFor(market).length, 4)
  }
})

// docs/faults.md, 81
t.test('that a market has no older candles says nothing against an empty page of a newer block', async t => {
  const { blockOf, confirmedBlockOf, lacking, clock } = open()
  lacking.set('KRW-A', () => true)
  t.equal((await confirmedBlockOf('upbit', 'KRW-A', D + 100)).isEmpty, true)
  const newer = blockOf('upbit', 'KRW-A', NOW)
  await clock.advance(0)
  lacking.clear()
  await clock.advance(60_000)
  t.ok((await newer).traded(NOW), 'one wrong page would settle minutes for good')
})

// docs/faults.md, 81
t.test('one wrong empty page is forgotten with the next answer', async t => {
  const { blockOf, lacking, clock } = open()
  for (const minute of [D + 100, D - 100]) {
    lacking.set('KRW-A', () => true)
    const asking = blockOf('upbit', 'KRW-A', minute)
    await clock.advance(0)
    lacking.clear()
    await clock.advance(60_000)
    t.ok((await asking).traded(minute))
  }
})

// docs/faults.md, 81
t.test(
  'a missing candle of Binance is confirmed when a second answer, a minute later, lacks it too',
  async t => {
    const { blockOf, confirmedBlockOf, lacking, clock, askedFor } = open()
    lacking.set('AUSDT', open => open === D + 99)
    const block = await confirmedBlockOf('binance', 'AUSDT', D + 110)
    t.strictSame([block.knows(D + 100), block.lacks(D + 100), block.lacks(D + 101)], [true, true, false])
    t.equal(askedFor('AUSDT').length, 2)
    await clock.advance(600_000)
    await blockOf('binance', 'AUSDT', D + 110)
    t.equal(askedFor('AUSDT').length, 2, 'what is confirmed is not asked for again')
  },
)

t.test('a candle that either of two answers has is there', async t => {
  const { blockOf, lacking, clock } = open()
  lacking.set('AUSDT', open => open === D + 99)
  const asking = blockOf('binance', 'AUSDT', D + 110)
  await clock.advance(0)
  lacking.set('AUSDT', open => open >= D + 109)
  await clock.advance(60_000)
  const block = await asking
  t.strictSame([block.traded(D + 100), block.traded(D + 110), block.newestCandle], [true, true, D + 798])
})

t.test('what Binance lacks of the market that always trades is missing of others at once', async t => {
  const { blockOf, confirmedBlockOf, lacking, askedFor } = open()
  for (const market of ['BTCUSDT', 'AUSDT']) lacking.set(market, open => open >= D + 50 && open < D + 90)
  await confirmedBlockOf('binance', 'BTCUSDT', D + 110)
  const block = await blockOf('binance', 'AUSDT', D + 110)
  t.strictSame([block.lacks(D + 51), block.lacks(D + 90), block.lacks(D + 91)], [true, true, false])
  t.equal(askedFor('AUSDT').length, 1)
})

t.test('a young block waits no minute for candles that are known to be missing', async t => {
  const { blockOf, confirmedBlockOf, lacking, askedFor } = open()
  lacking.set('AUSDT', open => open === NOW - 9)
  await confirmedBlockOf('binance', 'AUSDT', NOW)
  t.ok((await blockOf('binance', 'AUSDT', NOW + 1)).lacks(NOW - 8))
  t.equal(askedFor('AUSDT').length, 3)
})

// docs/faults.md, 81
t.test('no price is carried across a missing candle of Binance', async t => {
  const candles: MinuteCandle[] = [
    [D, 1, 1],
    [D + 2, 1, 0],
  ]
  const block = new CandleBlock(candles, D + 20, [D + 1])
  t.strictSame(block.lastTrade(D + 1), [D, 1, 1])
  t.equal(block.lastTrade(D + 3), undefined)
})
