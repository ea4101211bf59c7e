import { type Coin, DAY_MINUTES, dateOf, minuteStart } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { createReader, createWriter, openRedis } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { createCandleRequests } from '../../src/backfill/candle-requests.ts'
import { importDays } from '../../src/backfill/import-days.ts'
import { createSkippedDays } from '../../src/backfill/skipped-days.ts'
import { BTC, ETH, openExchanges, silent, YESTERDAY } from '../support/backfill-bench.ts'

const TODAY = YESTERDAY + DAY_MINUTES
const XRP: Coin = { symbol: 'XRP', name: 'XRP', upbit: 'KRW-XRP', binance: 'XRPUSDT' }

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
  const reader = createReader({ redis: connection })
  const writer = createWriter({ redis: connection, prices: 'simulated', retentionDays: 2, log: silent })
  await writer.verify()
  const context = { clock: systemClock, random: () => 0.5, signal: new AbortController().signal, log: silent }
  const run = async (coins: readonly Coin[], days: number) => {
    requests.length = 0
    const skipped = createSkippedDays()
    const candleRequests = createCandleRequests(
      (exchange, market, { start, end }) => rest.candlePage({ exchange, market, from: start, to: end }),
      context,
    )
    await importDays(
      {
        coins,
        days,
        retentionDays: 2,
        reader,
        writer,
        skipped,
        fetchPage: candleRequests.fetchPage,
        mayGoOn: async () => true,
        isFinal: () => false,
        onProgress: () => {},
      },
      context,
    )
    return skipped.list()
  }
  const samplesOf = async (symbol: string) => {
    const { entries } = await reader.readDays(symbol)
    return new Map(entries.map(({ date, samples }) => [date, samples]))
  }
  return { run, samplesOf }
}

t.test(
  'a suspension of a week does not end a coin; what is missing is said, with the reason, and not fetched again',
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
        reason: 'Binance did not trade for a part of the day',
        days: 1,
        from: day(4).date,
        to: day(4).date,
      },
      {
        symbol: 'XRP',
        reason: 'no trade on Upbit for more than an hour',
        days: 8,
        from: day(13).date,
        to: day(6).date,
      },
    ])
    t.strictSame(await run([XRP], 15), [])
    t.equal(requests.length, 0, 'nothing is asked for again')
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
  t.strictSame([...(await samplesOf('XRP')).values()].filter(count => count === 1_440).length, 2)
  t.match(
    skipped.find(({ reason }) => /no older candles/.test(reason)),
    { symbol: 'XRP', to: day(13).date },
  )
  const pages = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(pages < 60, `${pages} requests for two days of candles, and to see that there is nothing before`)
  await run([XRP], 100)
  t.equal(requests.length, 0, 'nothing is asked for again')
})

t.test('41. a coin that is refused is left out and named, the others are whole', async t => {
  const { run, samplesOf } = await openImport(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: ETH.upbit, status: 404, on: 'rest' })
  t.match(await run([ETH, BTC], 4), [{ symbol: 'ETH', reason: /HTTP 404/, days: 2 }])
  t.strictSame([...(await samplesOf('BTC')).values()], [1_440, 1_440])
  simulator.faults.clear()
  t.strictSame(await run([ETH, BTC], 4), [], 'and it is tried again the next time')
  t.strictSame([...(await samplesOf('ETH')).values()], [1_440, 1_440])
})
