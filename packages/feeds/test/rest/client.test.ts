import { minuteOf } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import type { Simulator } from '@kimchi/simulator'
import t, { type Test } from 'tap'
import { matchCoins } from '../../src/catalogue/catalogue.ts'
import { AT, createRest, serve, simulate } from '../harness.ts'

/** 2026-11-20T12:00Z as an epoch minute. */
const NOON = Date.UTC(2026, 10, 20, 12) / 60_000
const BTC = { exchange: 'upbit', market: 'KRW-BTC', last: NOON } as const

async function open(t: Test) {
  let requests = 0
  const simulator = await simulate(t, { speed: 1, onRequest: () => requests++ })
  return { simulator, rest: restOf(simulator), asked: () => requests }
}

function restOf({ upbitRestUrl: upbit, binanceRestUrl: binance }: Simulator, signal?: AbortSignal) {
  return createRest({ upbit, binance }, signal && { signal })
}

t.test('both listings have the exchanges’ own codes, and the catalogue matches them', async t => {
  const { rest } = await open(t)
  const listings = await rest.fetchListings()
  const { coins } = matchCoins({ ...listings, wanted: 'all' })
  t.match(coins[0], { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' })
  t.match(
    coins.find(({ symbol }) => symbol === 'AI'),
    { binance: 'AIGENSYNUSDT' },
  )
})

t.test('coins that ccxt renames keep the exchanges’ own codes, in listings and in candles', async t => {
  const { simulator, rest } = await open(t)
  for (const asset of ['TON', 'BCC', 'XBT', 'BCHSV', 'YOYO']) {
    const listing = { asset, tradesPerMinute: 10 }
    const upbit = { ...listing, koreanName: asset, englishName: `${asset} of Upbit` }
    simulator.list({ id: asset, price: 5, upbit, binance: listing })
  }
  const { upbit, binance } = await rest.fetchListings()
  for (const asset of ['TON', 'BCC', 'XBT', 'BCHSV', 'YOYO']) {
    t.match(
      upbit.find(({ market }) => market === `KRW-${asset}`),
      { asset, name: `${asset} of Upbit` },
    )
    t.match(
      binance.find(({ market }) => market === `${asset}USDT`),
      { asset },
    )
  }
  const { coins } = matchCoins({ upbit, binance, wanted: 'all' })
  t.notOk(coins.some(({ symbol }) => symbol === 'TON'))
  t.match(
    coins.find(({ symbol }) => symbol === 'YOYO'),
    { upbit: 'KRW-YOYO', binance: 'YOYOUSDT' },
  )
  t.equal(
    (await rest.fetchCandles({ exchange: 'upbit', market: 'KRW-TON', count: 5, last: NOON })).candles.length,
    5,
  )
})

t.test('a page holds the newest candles up to a minute as the exchange has them, by one request', async t => {
  const { simulator, rest, asked } = await open(t)
  for (const [exchange, market, count] of [
    ['upbit', 'KRW-BTC', 200],
    ['upbit', 'KRW-USDT', 5],
    ['binance', 'BTCUSDT', 1_000],
    ['binance', 'ETHUSDT', 1],
  ] as const) {
    const before = asked()
    const { candles } = await rest.fetchCandles({ exchange, market, count, last: NOON })
    t.equal(asked() - before, 1, 'one request')
    const start = Math.min((candles[0]?.[0] ?? NOON) - 1, NOON - count)
    const expected: (readonly [minute: number, close: number | 'carried'])[] = []
    for (let open = start; open < NOON; open++) {
      const candle = simulator.prices.candle(exchange, market, open * 60_000)
      if (candle !== undefined) expected.push([open + 1, candle.close])
      else if (exchange === 'binance') expected.push([open + 1, 'carried'])
    }
    t.equal(candles.length, expected.length, `${market} ${count}`)
    const wrong = candles.filter(([minute, close], at) => {
      return expected[at]?.[0] !== minute || (expected[at]?.[1] !== close && expected[at]?.[1] !== 'carried')
    })
    t.strictSame(wrong, [])
  }
})

t.test('a page of a quiet Upbit market reaches back further', async t => {
  const { simulator, rest } = await open(t)
  const range = { exchange: 'upbit', market: 'KRW-IQ', count: 30, last: NOON } as const
  const { candles } = await rest.fetchCandles(range)
  t.equal(candles.length, 30)
  const oldest = candles[0]?.[0] ?? NOON
  t.ok(oldest < NOON - 300)
  let expected = 0
  for (let open = oldest - 1; open < NOON; open++) {
    if (simulator.prices.candle('upbit', 'KRW-IQ', open * 60_000) !== undefined) expected += 1
  }
  t.equal(candles.length, expected, 'and none is left out')
})

// Our clock stands hours before that of the exchanges here.
t.test('without a minute a page holds the newest candle, whatever our clock says', async t => {
  const { rest } = await open(t)
  for (const [exchange, market] of [
    ['upbit', 'KRW-BTC'],
    ['binance', 'BTCUSDT'],
  ] as const) {
    const askedAt = minuteOf(Date.now())
    const { candles } = await rest.fetchCandles({ exchange, market, count: 1 })
    const opens = candles.map(([minute]) => minute - 1)
    t.equal(opens.length, 1)
    // In its first seconds the running minute may not have a trade yet.
    t.ok(
      opens.every(open => askedAt - 1 <= open && open <= minuteOf(Date.now())),
      `${exchange} ${opens}`,
    )
  }
})

t.test('a truncated answer is an error, not a time without trades', async t => {
  const { simulator, rest } = await open(t)
  simulator.faults.set({ kind: 'rest', exchange: 'both', mode: 'truncated' })
  for (const [exchange, market] of [
    ['upbit', 'KRW-BTC'],
    ['binance', 'BTCUSDT'],
  ] as const) {
    const cut = rest.fetchCandles({ exchange, market, count: 50, last: NOON })
    await t.rejects(cut, { code: 'KIMCHI_ERR_REST', message: /no JSON/ })
  }
})

// docs/faults.md, 17
t.test('a refusal keeps its code, status and time', async t => {
  const { simulator } = await open(t)
  for (const [status, code] of [
    [429, 'KIMCHI_ERR_REST'],
    [418, 'KIMCHI_ERR_REST'],
    [451, 'KIMCHI_ERR_GEO_BLOCKED'],
  ] as const) {
    for (const [exchange, market] of [
      ['upbit', 'KRW-BTC'],
      ['binance', 'BTCUSDT'],
    ] as const) {
      const undo = simulator.faults.set({ kind: 'refuse', exchange, status, on: 'rest', retryAfter: 3 })
      const refused = restOf(simulator).fetchCandles({ exchange, market, count: 5, last: NOON })
      await t.rejects(refused, {
        name: 'HttpError',
        code,
        status,
        retryAfterMs: Number,
      })
      undo()
    }
  }
})

// docs/faults.md, 102
t.test('a ban holds for all who ask its exchange, and for no other', async t => {
  for (const [status, retryAfter, seconds] of [
    [418, '120.5', 300],
    [418, '0', 300],
    [418, '-1', 300],
    [418, '12/25', 300],
    [418, '900', 900],
    [429, '7', 7],
  ] as const) {
    const asked: (string | undefined)[] = []
    const url = await serve(t, ({ url }, response) => {
      asked.push(url)
      response.writeHead(status, { 'Retry-After': retryAfter }).end('{}')
    })
    const clock = createManualClock(AT)
    const rest = createRest(
      { upbit: await serve(t, (_, response) => response.end('[]')), binance: url },
      { clock },
    )
    const candles = { exchange: 'binance', market: 'BTCUSDT', count: 5 } as const
    const callers: readonly (() => Promise<unknown>)[] = [
      () => rest.fetchTradingPrices(),
      () => rest.fetchCandles(candles),
      () => rest.fetchListings(),
      () => rest.get('binance', '/api/v3/ping', () => {}),
    ]
    for (const ask of callers)
      await t.rejects(ask(), { name: 'HttpError', status, retryAfterMs: seconds * 1_000 }, retryAfter)
    t.equal(asked.length, 1, `${status} ${retryAfter}`)
    t.strictSame((await rest.fetchCandles({ ...BTC, count: 5 })).candles, [], 'Upbit answers')
    await clock.advance(seconds * 1_000 - 2_000)
    await t.rejects(rest.fetchCandles(candles), { message: /not asked again/, retryAfterMs: 2_000 })
    await clock.advance(2_000)
    await t.rejects(rest.fetchCandles(candles), { name: 'HttpError', status })
    t.equal(asked.length, 2, 'and then it is asked')
  }
})

// docs/faults.md, 25
t.test('an empty or truncated listing is an error', async t => {
  const { simulator, rest } = await open(t)
  for (const mode of ['empty', 'truncated'] as const) {
    const undo = simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode })
    await t.rejects(rest.fetchListings(), { code: /KIMCHI_ERR_(CATALOGUE|REST)/ }, mode)
    undo()
  }
})

t.test('a request ends with the signal of its client', async t => {
  const { simulator } = await open(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 'hang', on: 'rest' })
  const stop = new AbortController()
  const aborted = restOf(simulator, stop.signal).fetchListings()
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST', message: /aborted/ })
})

t.test('requests under way at once get their own answers', async t => {
  const { simulator, rest } = await open(t)
  const markets = ['KRW-BTC', 'KRW-ETH', 'KRW-XRP', 'KRW-SOL']
  const pages = await Promise.all(markets.map(market => rest.fetchCandles({ ...BTC, market, count: 1 })))
  t.strictSame(
    pages.map(({ candles }) => candles[0]?.[1]),
    markets.map(market => simulator.prices.candle('upbit', market, (NOON - 1) * 60_000)?.close),
  )
})

t.test('candles of the wrong shape are an error, not a time without trades', async t => {
  for (const body of ['{}', '[null]', '[5]']) {
    const rest = createRest(await serve(t, (_request, response) => response.end(body)))
    for (const [exchange, market] of [
      ['upbit', 'KRW-BTC'],
      ['binance', 'BTCUSDT'],
    ] as const) {
      const candles = rest.fetchCandles({ exchange, market, count: 1, last: 2 })
      await t.rejects(candles, { code: 'KIMCHI_ERR_REST', message: /no list of candles/ })
    }
  }
})

t.test('a page says when Upbit accepts no further request in this second', async t => {
  for (const [limits, pauseMs] of [
    [0.1, 1_000],
    [1, undefined],
  ] as const) {
    const simulator = await simulate(t, { speed: 1, limits })
    const rest = restOf(simulator)
    t.equal((await rest.fetchCandles({ ...BTC, count: 1 })).pauseMs, pauseMs)
  }
})
