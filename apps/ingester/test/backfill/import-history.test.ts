import { type Coin, DAY_MINUTES, dateOf, minuteOf, minuteStart } from '@kimchi/core'
import type { CandlePage, CandleRange } from '@kimchi/feeds'
import { systemClock } from '@kimchi/runtime'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { CandleRequests } from '../../src/backfill/candle-requests.ts'
import { HistoryImport, type HistoryImportOptions } from '../../src/backfill/import-history.ts'
import { BTC, ETH, openExchanges, silent, YESTERDAY } from '../support/backfill-bench.ts'

const TODAY = YESTERDAY + DAY_MINUTES
const XRP: Coin = { symbol: 'XRP', name: 'XRP', upbit: 'KRW-XRP', binance: 'XRPUSDT' }

/** Requests for one minute that has passed meanwhile, and for which it is. */
const FRESH = 6

/** The most requests that may be made for the minutes that have passed since an instant. */
const freshSince = (startedAt: number) => FRESH * (1 + minuteOf(Date.now()) - minuteOf(startedAt))

const NO_WRITER = { importDay: async () => 'stored' as const, markImported: async () => {} }

/** A day some days ago. */
const day = (ago: number) => ({
  date: dateOf(TODAY - ago * DAY_MINUTES),
  at: minuteStart(TODAY - ago * DAY_MINUTES),
})

const exchanges = await openExchanges(t)
const { simulator, rest, requests, requestsFor } = exchanges

/** An import into a private Redis; single samples are kept of two days there. */
async function openImport(t: Test) {
  simulator.faults.clear()
  const redis = await startRedis(t)
  const connection = openRedis(redis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(10_000)
  const reader = new SampleReader({ redis: connection })
  const writer = new SampleWriter({ redis: connection, prices: 'simulated', retentionDays: 2, log: silent })
  await writer.verify()
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const context = { clock: systemClock, random: () => 0.5, signal: ending.signal, log: silent }
  const run = (coins: readonly Coin[], days: number, changes: Partial<HistoryImportOptions> = {}) => {
    requests.length = 0
    const candleRequests = new CandleRequests(
      {
        rest,
        upbitPerSecond: 400,
      },
      context,
    )
    const lease = { claim: async (symbols: readonly string[]) => new Set(symbols) }
    return new HistoryImport(
      {
        ...{ coins, days, retentionDays: 2, reader, writer },
        lease,
        requests: candleRequests,
        onProgress: () => {},
        ...changes,
      },
      context,
    ).run()
  }
  const samplesOf = async (symbol: string) => {
    const { entries } = await reader.readDays(symbol)
    return new Map(entries.map(({ date, samples }) => [date, samples]))
  }
  return { run, samplesOf }
}

t.test(
  'a suspension of a week does not end a coin; missing days are reported with the reason, and not fetched again',
  async t => {
    const { run, samplesOf } = await openImport(t)
    simulator.faults.set({
      kind: 'halt',
      exchange: 'upbit',
      market: XRP.upbit,
      from: day(13).at,
      to: day(6).at,
    })
    const hour = { from: day(4).at + 36_000_000, to: day(4).at + 39_600_000 }
    simulator.faults.set({ kind: 'outage', exchange: 'binance', ...hour })
    const skipped = await run([XRP], 15)
    const samples = await samplesOf('XRP')
    for (const ago of [3, 5, 14, 15]) t.equal(samples.get(day(ago).date), 1_440, `${ago} days ago`)
    for (const ago of [7, 9, 12]) t.notOk(samples.has(day(ago).date), `${ago} days ago`)
    t.ok((samples.get(day(13).date) ?? 0) <= 61, 'the hour that is carried into the suspension')
    t.match(skipped, [
      {
        symbol: 'XRP',
        reason: 'binance-down',
        days: 1,
        from: day(4).date,
        to: day(4).date,
      },
      {
        symbol: 'XRP',
        reason: 'no-upbit-price',
        days: 8,
        from: day(13).date,
        to: day(6).date,
      },
    ])
    const endedAt = Date.now()
    t.strictSame(await run([XRP], 15), [])
    t.ok(requests.length <= freshSince(endedAt), `nothing is asked for again, but for ${requests.length}`)
  },
)

t.test('a coin ends where its exchanges have no older candles', async t => {
  const { run, samplesOf } = await openImport(t)
  for (const exchange of ['upbit', 'binance'] as const) {
    simulator.faults.set({
      kind: 'halt',
      exchange,
      market: XRP[exchange],
      from: 0,
      to: day(5).at,
      klines: 'none',
    })
  }
  const skipped = await run([XRP], 100)
  t.equal([...(await samplesOf('XRP')).values()].filter(count => count === 1_440).length, 4)
  t.match(
    skipped.find(({ reason }) => /no older candles/.test(reason)),
    { symbol: 'XRP', from: day(100).date },
  )
  const pages = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(pages < 60, `${pages} requests for two days of candles, and to see that there is nothing before`)
  const endedAt = Date.now()
  await run([XRP], 100)
  t.ok(requests.length <= freshSince(endedAt), `nothing is asked for again, but for ${requests.length}`)
})

t.test('41. a coin that is refused is left out and named, the others are whole', async t => {
  const { run, samplesOf } = await openImport(t)
  const whole = async (symbol: string) => [...(await samplesOf(symbol)).values()].slice(0, 4)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: ETH.upbit, status: 404, on: 'rest' })
  t.match(await run([ETH, BTC], 4), [{ symbol: 'ETH', reason: /HTTP 404/, days: 5, from: day(4).date }])
  t.strictSame(await whole('BTC'), [1_440, 1_440, 1_440, 1_440])
  simulator.faults.clear()
  t.strictSame(await run([ETH, BTC], 4), [], 'and it is tried again the next time')
  t.strictSame(await whole('ETH'), [1_440, 1_440, 1_440, 1_440])
})

t.test('an import stops where the rate begins', async t => {
  const { run, samplesOf } = await openImport(t)
  simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-USDT', from: 0, to: day(4).at })
  const skipped = await run([BTC, XRP], 300)
  for (const symbol of ['BTC', 'XRP']) {
    t.equal([...(await samplesOf(symbol)).values()].filter(count => count === 1_440).length, 3, symbol)
    t.match(
      skipped.find(entry => entry.symbol === symbol && /KRW-USDT has no older candles/.test(entry.reason)),
      { from: day(300).date },
    )
  }
  // The simulator has nothing older only two weeks before its last candle.
  const asked = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(asked <= (5 + 15) * 8, `${asked} requests for four days of candles`)
  const endedAt = Date.now()
  await run([BTC, XRP], 300)
  t.ok(
    requests.length <= freshSince(endedAt) + 1,
    `only where the rate begins is asked for again, by ${requests.length}`,
  )
})

t.test('a coin whose candles fail for some seconds is asked for again', async t => {
  const { run } = await openImport(t)
  let failures = 0
  const failing = {
    fetchPage: (range: CandleRange) =>
      range.market === ETH.upbit && ++failures === 1
        ? Promise.reject(new Error('socket hang up'))
        : rest.candlePage(range),
  }
  t.strictSame(await run([ETH], 1, { requests: failing }), [])
})

t.test('an import that Redis refuses ends, whatever its other coins wait for', async t => {
  const { run } = await openImport(t)
  const hanging = {
    fetchPage: (range: CandleRange) =>
      range.market === ETH.upbit ? new Promise<CandlePage>(() => {}) : rest.candlePage(range),
  }
  const write = () => Promise.reject(new Error('Redis is full'))
  await t.rejects(run([BTC, ETH], 1, { requests: hanging, writer: { ...NO_WRITER, write } }), {
    message: 'Redis is full',
  })
})
