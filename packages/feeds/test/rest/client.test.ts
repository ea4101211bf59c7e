import { minuteOf } from '@kimchi/core'
import type { Simulator } from '@kimchi/simulator'
import { eventually } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { matchCoins } from '../../src/catalogue/catalogue.ts'
import { createRest, simulate } from '../harness.ts'

/** 2026-11-20T12:00Z as an epoch minute. */
const NOON = Date.UTC(2026, 10, 20, 12) / 60_000

async function open(t: Test) {
  let requests = 0
  const simulator = await simulate(t, { speed: 1, onRequest: () => requests++ })
  return { simulator, rest: restOf(simulator), asked: () => requests }
}

function restOf({ url }: Simulator, signal?: AbortSignal) {
  return createRest({ upbit: url, binance: url }, signal && { signal })
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

t.test('a request ends with the signal of its client', async t => {
  const { simulator, asked } = await open(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 'hang', on: 'rest' })
  const stop = new AbortController()
  const aborted = restOf(simulator, stop.signal).fetchListings()
  aborted.catch(() => {})
  await eventually('the request', () => asked() === 1)
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST', message: /aborted/ })
})
