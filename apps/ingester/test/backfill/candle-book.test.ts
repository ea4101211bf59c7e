import type { Exchange, Market } from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'
import t from 'tap'
import { createCandleBook } from '../../src/backfill/candle-book.ts'

/** Pages of a market that trades each minute, or `quiet` minutes apart, 200 candles at most. */
function open(quiet = 1) {
  const asked: { exchange: Exchange; market: Market; opens: MinuteRange }[] = []
  const book = createCandleBook(async (exchange, market, opens) => {
    asked.push({ exchange, market, opens })
    const count = Math.min(200, opens.end - opens.start)
    const newest = Math.floor((opens.end - 1) / quiet) * quiet
    const candles = Array.from(
      { length: count },
      (_, back) => [newest - back * quiet, 1, 1] as const,
    ).reverse()
    return { candles, start: candles[0]?.[0] ?? opens.start }
  })
  return { book, asked }
}

t.test('fetches each candle once, newest page first', async t => {
  const { book, asked } = open()
  const series = await book.series('upbit', 'KRW-A', { start: 1_000, end: 1_450 })
  t.equal(series.candles.length, 450)
  t.strictSame(
    asked.map(({ opens }) => opens),
    [
      { start: 1_000, end: 1_450 },
      { start: 1_000, end: 1_250 },
      { start: 1_000, end: 1_050 },
    ],
  )
  await book.series('upbit', 'KRW-A', { start: 1_100, end: 1_300 })
  t.equal(asked.length, 3, 'known')
  await book.series('upbit', 'KRW-A', { start: 1_440, end: 1_460 })
  t.strictSame(asked.at(-1)?.opens, { start: 1_450, end: 1_460 }, 'only what is not')
})

t.test('a page that reaches further back serves older minutes', async t => {
  const { book, asked } = open(20)
  await book.series('upbit', 'KRW-A', { start: 9_900, end: 10_000 })
  await book.series('upbit', 'KRW-A', { start: 8_100, end: 8_200 })
  t.equal(asked.length, 1)
})

t.test('two that want the same page ask for it once', async t => {
  const { book, asked } = open()
  await Promise.all([1, 2, 3].map(() => book.series('upbit', 'KRW-A', { start: 0, end: 200 })))
  t.equal(asked.length, 1)
})

t.test('a request that failed leaves the market to the next one', async t => {
  let isBroken = true
  const book = createCandleBook(async (_exchange, _market, { start }) => {
    if (isBroken) throw new Error('broken')
    return { candles: [], start }
  })
  await t.rejects(book.series('upbit', 'KRW-A', { start: 0, end: 10 }))
  isBroken = false
  t.ok(await book.series('upbit', 'KRW-A', { start: 0, end: 10 }))
})

t.test(
  'keeps what older minutes will need: a coin’s older candles, a day more of shared markets',
  async t => {
    const { book, asked } = open()
    for (const market of ['KRW-A', 'KRW-USDT']) await book.series('upbit', market, { start: 0, end: 6_000 })
    for (const market of ['KRW-A', 'KRW-USDT']) book.leave(market, 1_000)
    asked.length = 0
    for (const market of ['KRW-A', 'KRW-USDT']) await book.series('upbit', market, { start: 500, end: 1_000 })
    t.equal(asked.length, 0)
    await book.series('upbit', 'KRW-USDT', { start: 2_000, end: 2_400 })
    t.equal(asked.length, 0, 'another coin may be a day behind')
    await book.series('upbit', 'KRW-A', { start: 1_000, end: 1_001 })
    await book.series('upbit', 'KRW-USDT', { start: 5_000, end: 5_001 })
    t.equal(asked.length, 2)
    book.leave('KRW-USDT', Number.NEGATIVE_INFINITY)
    await book.series('upbit', 'KRW-USDT', { start: 2_000, end: 2_400 })
    t.equal(asked.length, 2, 'a coin that is done takes nothing from the others')
  },
)

t.test('forgets the last minutes on demand', async t => {
  const { book, asked } = open()
  await book.series('upbit', 'KRW-USDT', { start: 0, end: 200 })
  book.forgetFrom(190)
  await book.series('upbit', 'KRW-USDT', { start: 0, end: 200 })
  t.strictSame(asked.at(-1)?.opens, { start: 190, end: 200 })
})

t.test('a page that is asked for anyway is a full one, as far back as there is use for it', async t => {
  const { book, asked } = open()
  await book.series('upbit', 'KRW-A', { start: 950, end: 1_000 }, 900)
  await book.series('upbit', 'KRW-A', { start: 900, end: 950 }, 900)
  t.strictSame(
    asked.splice(0).map(({ opens }) => opens),
    [{ start: 900, end: 1_000 }],
  )
  await book.series('upbit', 'KRW-A', { start: 800, end: 900 }, Number.NEGATIVE_INFINITY)
  t.strictSame(
    asked.map(({ opens }) => opens),
    [{ start: 700, end: 900 }],
  )
})
