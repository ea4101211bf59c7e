import { type Market, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import type { CandleRange, MinuteCandle } from '@kimchi/feeds'
import t from 'tap'
import { CandleBlock, CandleBlocks } from '../../src/backfill/candle-blocks.ts'

/** A multiple of both exchanges' blocks. */
const D = 16_000 * 1_800
const NOW = D + 1_100

/** Markets that trade each minute, or `quiet` minutes apart; answers hold what the exchanges' do. */
function open({ quiet = 1, max = 64, binanceNow = () => Number.POSITIVE_INFINITY } = {}) {
  const clock = createManualClock(minuteStart(NOW) + 10_000)
  const asked: CandleRange[] = []
  const broken = new Set<Market>()
  const blocks = new CandleBlocks(
    async range => {
      const { exchange, market, from, to } = range
      asked.push(range)
      if (broken.has(market)) throw new Error('broken')
      const [count, step] = exchange === 'upbit' ? [200, quiet] : [to - from, 1]
      const newest = Math.floor(Math.min(to - 1, binanceNow()) / step) * step
      const candles = Array.from({ length: count }, (_, back): MinuteCandle => [newest - back * step, 1, 1])
      return { candles: candles.reverse() }
    },
    clock,
    max,
  )
  const askedFor = (market: Market) => asked.filter(request => request.market === market)
  return { blocks, clock, asked, askedFor, broken }
}

t.test('a block is one request, whoever needs it and however often', async t => {
  const { blocks, askedFor } = open()
  await Promise.all([D + 10, D + 199, D + 50].map(minute => blocks.blockOf('upbit', 'KRW-A', minute)))
  await blocks.blockOf('upbit', 'KRW-A', D)
  t.strictSame(
    askedFor('KRW-A').map(({ from, to }) => [from, to]),
    [[D - 1, D + 199]],
    'the candles that decide D to D + 199',
  )
  await blocks.blockOf('binance', 'AUSDT', D + 799)
  await blocks.blockOf('binance', 'AUSDT', D)
  t.strictSame(
    askedFor('AUSDT').map(({ from, to }) => [from, to]),
    [[D - 61, D + 799]],
    'with an hour to carry from before it',
  )
})

t.test('earlier candles in an answer of Upbit are carried into the block', async t => {
  const { blocks, askedFor } = open({ quiet: 55 })
  const block = await blocks.blockOf('upbit', 'KRW-A', D + 30)
  const [openMinute = 0] = block.lastTrade(D + 1) ?? []
  t.ok(openMinute < D - 1 && openMinute >= D - 56)
  t.equal(askedFor('KRW-A').length, 1)
})

t.test('a block is fetched again when it is young and does not reach the minute, once a minute', async t => {
  const { blocks, clock, askedFor } = open()
  const ask = async (minute: number) => {
    await blocks.blockOf('upbit', 'KRW-A', minute)
    return askedFor('KRW-A').length
  }
  t.equal(await ask(NOW - 1), 1)
  t.equal(await ask(NOW), 1, 'it holds all that is complete')
  t.match(askedFor('KRW-A')[0], { from: NOW - 200, to: NOW })
  await clock.advance(60_000)
  t.equal(await ask(NOW), 1, 'it holds the candle')
  t.equal(await ask(NOW + 1), 2)
  t.equal(await ask(NOW + 1), 2)
})

t.test(
  'an absent candle is fetched again every minute, until an answer of ten minutes later lacks it, too',
  async t => {
    const { blocks, clock, askedFor } = open({ quiet: 700 })
    for (let minutes = 0; minutes <= 15; minutes++) {
      for (let calls = 0; calls < 3; calls++) await blocks.blockOf('upbit', 'KRW-A', NOW)
      t.equal(askedFor('KRW-A').length, Math.min(minutes, 10) + 1)
      await clock.advance(60_000)
    }
  },
)

t.test('only so many blocks are kept; the least recently used ones are dropped', async t => {
  const { blocks, asked, askedFor } = open({ max: 2 })
  for (const market of ['KRW-A', 'KRW-B', 'KRW-A', 'KRW-C', 'KRW-A']) await blocks.blockOf('upbit', market, D)
  t.equal(askedFor('KRW-A').length, 1)
  await blocks.blockOf('upbit', 'KRW-B', D)
  t.equal(askedFor('KRW-B').length, 2)
  t.equal(asked.length, 5, 'and one for the newest minute')
})

t.test('a request that failed is repeated by the next caller who needs the block', async t => {
  const { blocks, broken } = open()
  broken.add('KRW-A')
  await t.rejects(blocks.blockOf('upbit', 'KRW-A', D), { message: 'broken' })
  broken.clear()
  t.ok(await blocks.blockOf('upbit', 'KRW-A', D))
})

t.test('the newest minute is known from Binance, whatever our clock says', async t => {
  t.equal(await open().blocks.newest(), NOW)
  const ahead = open({ binanceNow: () => NOW - 60 })
  t.equal(await ahead.blocks.newest(), NOW - 60, 'our clock is an hour ahead')
  await ahead.blocks.blockOf('upbit', 'KRW-A', NOW - 60)
  t.equal(ahead.askedFor('KRW-A')[0]?.to, NOW - 60, 'no open candle is asked for')
  const empty = new CandleBlocks(async () => ({ candles: [] }), createManualClock(minuteStart(NOW)))
  await t.rejects(empty.newest(), { message: /no BTCUSDT candle.*clock right/ })
})

t.test('a later trade is found in later blocks, too', async t => {
  const { blocks, clock } = open({ quiet: 700 })
  t.equal(await blocks.hasTradedSince('upbit', 'KRW-A', D + 1), true, 'three blocks later')
  for (let calls = 0; calls < 2; calls++) {
    t.equal(await blocks.hasTradedSince('upbit', 'KRW-A', NOW - 10), false)
  }
  t.equal(await blocks.hasTradedSince('upbit', 'KRW-A', D + 700), true)
  await clock.advance(420 * 60_000)
  t.equal(await blocks.hasTradedSince('upbit', 'KRW-A', NOW - 10), true)
})

t.test('a candle is complete ten seconds after its end, not sooner', async t => {
  const { blocks, clock } = open()
  clock.step(-1)
  t.equal(await blocks.newest(), NOW - 1)
})

t.test('a candle without volume is no trade; one that opens at a minute is a trade since it', async t => {
  const block = new CandleBlock(
    [
      [D, 1, 1],
      [D + 1, 1, 0],
    ],
    D + 20,
  )
  t.strictSame([block.tradedSince(D), block.tradedSince(D + 1)], [true, false])
  t.strictSame([block.isEmpty, new CandleBlock([[D, 1, 0]], D + 20).isEmpty], [false, true])
})
