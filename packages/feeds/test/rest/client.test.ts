import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import { createRestBases } from '../../src/bases.ts'
import { matchCoins } from '../../src/catalogue/catalogue.ts'
import { openRestChild } from '../../src/rest/client.ts'
import { AT, memoryLog, simulate, until } from '../harness.ts'

/** The built child: Node cannot run its TypeScript source. */
const ENTRY = new URL('../../dist/rest/child.js', import.meta.url)
/** 2026-11-20T12:00Z as an epoch minute. */
const NOON = Date.UTC(2026, 10, 20, 12) / 60_000
const BTC = { exchange: 'upbit', market: 'KRW-BTC', to: NOON } as const

async function open(t: Test, idleMs = 30_000) {
  let requests = 0
  const simulator = await simulate(t, { speed: 1, onRequest: () => requests++ })
  const { upbitRestUrl, binanceRestUrl } = simulator
  const log = memoryLog()
  const bases = createRestBases(upbitRestUrl, binanceRestUrl, { clock: createManualClock(AT), log })
  const child = openRestChild({ bases, idleMs, entry: ENTRY }, { log })
  t.teardown(() => child.close())
  return { simulator, child, log, asked: () => requests }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie still has a process id, but it has ended.
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}

t.test('both listings have the exchanges’ own codes, and the catalogue matches them', async t => {
  const { child } = await open(t)
  t.equal(child.pid, undefined, 'no child before the first request')
  const listings = await child.loadListings()
  const { coins } = matchCoins({ ...listings, wanted: 'all' })
  t.match(coins[0], { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' })
  t.match(
    coins.find(({ symbol }) => symbol === 'AI'),
    { binance: 'AIGENSYNUSDT' },
  )
})

t.test('coins that ccxt renames keep the exchanges’ own codes, in listings and in candles', async t => {
  const { simulator, child } = await open(t)
  for (const base of ['TON', 'BCC', 'XBT', 'BCHSV', 'YOYO']) {
    const listing = { base, tradesPerMinute: 10 }
    const upbit = { ...listing, koreanName: base, englishName: `${base} of Upbit` }
    simulator.list({ id: base, price: 5, upbit, binance: listing })
  }
  const { upbit, binance } = await child.loadListings()
  for (const base of ['TON', 'BCC', 'XBT', 'BCHSV', 'YOYO']) {
    t.match(
      upbit.markets.find(({ market }) => market === `KRW-${base}`),
      { base, name: `${base} of Upbit` },
    )
    t.match(
      binance.markets.find(({ market }) => market === `${base}USDT`),
      { base },
    )
  }
  const { coins } = matchCoins({ upbit, binance, wanted: 'all' })
  t.notOk(coins.some(({ symbol }) => symbol === 'TON'))
  t.match(
    coins.find(({ symbol }) => symbol === 'YOYO'),
    { upbit: 'KRW-YOYO', binance: 'YOYOUSDT' },
  )
  t.equal(
    (await child.candlePage({ exchange: 'upbit', market: 'KRW-TON', from: NOON - 5, to: NOON })).candles
      .length,
    5,
  )
})

t.test('a page holds the newest candles of a range as the exchange has them, by one request', async t => {
  const { simulator, child, asked } = await open(t)
  for (const [exchange, market, minutes, page] of [
    ['upbit', 'KRW-BTC', 450, 200],
    ['upbit', 'KRW-USDT', 200, 200],
    ['binance', 'BTCUSDT', 2_300, 1_000],
    ['binance', 'ETHUSDT', 1, 1],
  ] as const) {
    const before = asked()
    const { candles, start } = await child.candlePage({ exchange, market, from: NOON - minutes, to: NOON })
    t.equal(asked() - before, 1, 'one request')
    t.ok(start <= NOON - page, `${market} from ${NOON - start} minutes ago on`)
    const expected: (readonly [minute: number, close: number | 'carried'])[] = []
    for (let minute = start; minute < NOON; minute++) {
      const candle = simulator.prices.candle(exchange, market, minute * 60_000)
      if (candle !== undefined) expected.push([minute, candle.close])
      else if (exchange === 'binance') expected.push([minute, 'carried'])
    }
    t.equal(candles.length, expected.length, `${market} ${minutes}`)
    const wrong = candles.filter(([minute, close], at) => {
      return expected[at]?.[0] !== minute || (expected[at]?.[1] !== close && expected[at]?.[1] !== 'carried')
    })
    t.strictSame(wrong, [])
  }
})

t.test('a page of a quiet Upbit market reaches back beyond the range', async t => {
  const { simulator, child } = await open(t)
  const { candles, start } = await child.candlePage({
    exchange: 'upbit',
    market: 'KRW-IQ',
    from: NOON - 30,
    to: NOON,
  })
  t.equal(candles.length, 30)
  t.ok(start < NOON - 300 && candles[0]?.[0] === start, 'complete from its oldest candle on')
  let expected = 0
  for (let minute = start; minute < NOON; minute++) {
    if (simulator.prices.candle('upbit', 'KRW-IQ', minute * 60_000) !== undefined) expected += 1
  }
  t.equal(candles.length, expected, 'and none is left out')
  const sats = await child.candlePage({
    exchange: 'binance',
    market: '1000SATSUSDT',
    from: NOON - 1,
    to: NOON,
  })
  t.ok((sats.candles[0]?.[1] ?? 1) < 1e-6, 'the price of one coin')
})

t.test('a page that is not full is complete for no more than the range asked for', async t => {
  const { simulator, child } = await open(t)
  // Listed ten minutes ago.
  const market = 'KRW-ETH'
  simulator.faults.set({ kind: 'halt', exchange: 'upbit', market, from: 0, to: (NOON - 10) * 60_000 })
  const { candles, start } = await child.candlePage({ exchange: 'upbit', market, from: NOON - 50, to: NOON })
  t.ok(candles.length > 0 && candles.length <= 10)
  t.equal(start, NOON - 50)
})

t.test('a truncated answer is an error, not a time without trades', async t => {
  const { simulator, child } = await open(t)
  simulator.faults.set({ kind: 'rest', exchange: 'both', mode: 'truncated' })
  for (const [exchange, market] of [
    ['upbit', 'KRW-BTC'],
    ['binance', 'BTCUSDT'],
  ] as const) {
    const cut = child.candlePage({ exchange, market, from: NOON - 50, to: NOON })
    await t.rejects(cut, { code: 'KIMCHI_ERR_REST', message: /no JSON/ })
  }
})

t.test('a refusal keeps its code, status and time on the way from the child', async t => {
  const { simulator, child } = await open(t)
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
      const refused = child.candlePage({ exchange, market, from: NOON - 5, to: NOON })
      await t.rejects(refused, {
        name: 'HttpError',
        code,
        status,
        ...(status === 451 ? {} : { retryAfterMs: Number }),
      })
      undo()
    }
  }
  t.equal(
    (await child.candlePage({ ...BTC, from: NOON - 5 })).candles.length,
    5,
    'and then requests work again',
  )
})

t.test('25. an empty or truncated listing is an error', async t => {
  const { simulator, child } = await open(t)
  for (const mode of ['empty', 'truncated'] as const) {
    const undo = simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode })
    await t.rejects(child.loadListings(), { code: /KIMCHI_ERR_(CATALOGUE|REST)/ }, mode)
    undo()
  }
})

t.test('the child ends when idle and another is started when needed', async t => {
  const { child } = await open(t, 50)
  await child.candlePage({ ...BTC, from: NOON - 1 })
  const first = child.pid ?? 0
  await until('the child has ended', () => child.pid === undefined && !isAlive(first))
  await child.candlePage({ ...BTC, from: NOON - 1 })
  t.not(child.pid, first)
})

t.test('when the child crashes its requests fail, and the next request starts another', async t => {
  const { child, simulator, log } = await open(t)
  await child.loadListings()
  const first = child.pid ?? 0
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 'hang', on: 'rest', frames: 1 })
  const hanging = child.candlePage({ ...BTC, from: NOON - 1 })
  await delay(0)
  process.kill(first, 'SIGKILL')
  await t.rejects(hanging, { code: 'KIMCHI_ERR_REST', message: /SIGKILL/ })
  t.match(log.lines.at(-1), { level: 'warn', fields: { pid: first } })
  simulator.faults.clear()
  t.equal((await child.candlePage({ ...BTC, from: NOON - 1 })).candles.length, 1)
})

t.test('a request can be aborted, and close ends the child and all requests', async t => {
  const { child, simulator } = await open(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 'hang', on: 'rest' })
  const stop = new AbortController()
  const aborted = child.loadListings(stop.signal)
  const hanging = child.loadListings()
  const pid = child.pid ?? 0
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST', message: /aborted/ })
  await Promise.all([t.rejects(hanging, { code: 'KIMCHI_ERR_REST', message: /closed/ }), child.close()])
  t.notOk(isAlive(pid))
  await t.rejects(child.loadListings(), { code: 'KIMCHI_ERR_REST' })
  await child.close()
})

t.test('the package itself does not load ccxt', async t => {
  const hook = `export const resolve = (name, context, next) => {
    if (name === 'ccxt') throw new Error('ccxt was loaded')
    return next(name, context)
  }`
  const load = (file: string): string => {
    const url = new URL(`../../dist/${file}`, import.meta.url).href
    const script = `await import('${url}').then(() => console.log('fine'), error => console.log(error.message))`
    const flags = [
      '--no-warnings',
      '--experimental-loader',
      `data:text/javascript,${encodeURIComponent(hook)}`,
    ]
    const options = { encoding: 'utf8', env: {} } as const
    return execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script], options).trim()
  }
  t.equal(load('index.js'), 'fine')
  t.equal(load('rest/exchanges.js'), 'ccxt was loaded', 'the hook works')
})

t.test('a page says when Upbit accepts no further request in this second', async t => {
  for (const [limits, pauseMs] of [
    [0.1, 1_000],
    [1, undefined],
  ] as const) {
    const simulator = await simulate(t, { speed: 1, limits })
    const { upbitRestUrl, binanceRestUrl } = simulator
    const log = memoryLog()
    const bases = createRestBases(upbitRestUrl, binanceRestUrl, { clock: createManualClock(AT), log })
    const child = openRestChild({ bases, entry: ENTRY }, { log })
    t.teardown(() => child.close())
    t.equal((await child.candlePage({ ...BTC, from: NOON - 1 })).pauseMs, pauseMs)
  }
})
