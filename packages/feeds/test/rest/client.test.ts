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

// docs/faults.md, 102
t.test('a ban holds for all who ask its exchange, and for no other', async t => {
  for (const [status, retryAfter, seconds] of [
    [418, '120.5', 300],
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

t.test('a request ends with the signal of its client', async t => {
  const { simulator } = await open(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 'hang', on: 'rest' })
  const stop = new AbortController()
  const aborted = restOf(simulator, stop.signal).fetchListings()
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST', message: /aborted/ })
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
