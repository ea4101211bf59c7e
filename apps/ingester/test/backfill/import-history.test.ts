import {
  type Clock,
  type Coin,
  DAY_MINUTES,
  DAY_MS,
  dateOf,
  type Exchange,
  KimchiError,
  MINUTE_MS,
  minuteOf,
  minuteStart,
} from '@kimchi/core'
import type { CandleRequest } from '@kimchi/feeds'
import { systemClock } from '@kimchi/runtime'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import t, { type Test } from 'tap'
import { CANDLE_GRACE_MS } from '../../src/backfill/candle-block-cache.ts'
import { HistoryImport, type HistoryImportOptions } from '../../src/backfill/import-history.ts'
import { BTC, ETH, openExchanges, silent, YESTERDAY } from '../support/backfill-bench.ts'

const TODAY = YESTERDAY + DAY_MINUTES
const XRP: Coin = { symbol: 'XRP', name: 'XRP', upbit: 'KRW-XRP', binance: 'XRPUSDT' }

// What an answer lacks is asked for again a minute later; here that minute takes no time. The wall clock does not skip
// it, so that its day stays that of Redis.
let skippedMs = 0
let skippedFrom = MINUTE_MS
const clock: Clock = {
  now: () => systemClock.now(),
  elapsed: () => systemClock.elapsed() + skippedMs,
  wait: async (ms, signal) => {
    if (ms < skippedFrom) return systemClock.wait(ms, signal)
    skippedMs += ms
  },
}

/** Requests for one minute that has passed meanwhile, and for which it is. */
const FRESH = 6

/** The newest minute whose candles are complete, plus the minutes that were skipped. */
const reached = () => minuteOf(clock.now() - CANDLE_GRACE_MS) + Math.floor(skippedMs / MINUTE_MS)

/** The most requests that may be made for the minutes that have passed since one of {@link reached}. */
const freshSince = (startedAt: number) => FRESH * (1 + reached() - startedAt)

/** A day some days ago. */
const day = (ago: number) => ({
  date: dateOf(TODAY - ago * DAY_MINUTES),
  at: minuteStart(TODAY - ago * DAY_MINUTES),
})

const exchanges = await openExchanges(t)
const { simulator, sharedRedis, rest, requests, requestsFor } = exchanges

/** An import into an empty Redis; single samples are kept of two days there. */
async function openImport(t: Test) {
  simulator.faults.clear()
  const raw = sharedRedis.client()
  await raw.flushall()
  const connection = openRedis(sharedRedis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(60_000)
  const reader = new SampleReader({ redis: connection })
  const writer = new SampleWriter({ redis: connection, prices: 'simulated', retentionDays: 2, log: silent })
  await writer.verify()
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const context = { clock, random: () => 0.5, signal: ending.signal, log: silent }
  const run = (coins: readonly Coin[], days: number, changes: Partial<HistoryImportOptions> = {}) => {
    requests.length = 0
    return new HistoryImport(
      {
        ...{ coins, days, retentionDays: 2, reader, writer },
        rest,
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
  return { run, samplesOf, reader, writer, raw }
}

type Halt = Extract<Parameters<typeof simulator.faults.set>[0], { kind: 'halt' }>

/** Halts a market for a while. */
const halt = (exchange: Exchange, market: string, from: number, to: number, klines?: Halt['klines']) =>
  simulator.faults.set({ kind: 'halt', exchange, market, from, to, ...(klines && { klines }) })

t.test(
  'a suspension of days does not end a coin; missing days are reported with the reason, and not fetched again',
  async t => {
    const { run, samplesOf } = await openImport(t)
    halt('upbit', XRP.upbit, day(9).at, day(6).at)
    const hour = { from: day(4).at + 36_000_000, to: day(4).at + 39_600_000 }
    simulator.faults.set({ kind: 'outage', exchange: 'binance', ...hour })
    const skipped = await run([XRP], 11)
    const samples = await samplesOf('XRP')
    t.strictSame(
      [0, 1, 2].map(ago => samples.get(day(ago).date)),
      [undefined, undefined, undefined],
      'the ingesters’ days',
    )
    for (const ago of [3, 5, 10, 11]) t.equal(samples.get(day(ago).date), 1_440, `${ago} days ago`)
    for (const ago of [7, 8]) t.notOk(samples.has(day(ago).date), `${ago} days ago`)
    t.ok((samples.get(day(9).date) ?? 0) <= 61, 'the hour that is carried into the suspension')
    t.match(skipped, [
      { symbol: 'XRP', reason: 'binance-down', days: 1, from: day(4).date, to: day(4).date },
      { symbol: 'XRP', reason: 'no-upbit-price', days: 4, from: day(9).date, to: day(6).date },
    ])
    const endedAt = reached()
    t.strictSame(await run([XRP], 11), [])
    t.ok(requests.length <= freshSince(endedAt), `nothing is asked for again, but for ${requests.length}`)
  },
)

t.test('a coin ends where its exchanges have no older candles', async t => {
  const { run, samplesOf } = await openImport(t)
  for (const exchange of ['upbit', 'binance'] as const) halt(exchange, XRP[exchange], 0, day(5).at, 'none')
  const skipped = await run([XRP], 100)
  t.equal([...(await samplesOf('XRP')).values()].filter(count => count === 1_440).length, 2)
  t.match(
    skipped.find(({ reason }) => /no older candles/.test(reason)),
    { symbol: 'XRP', from: day(100).date },
  )
  const pages = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(pages < 60, `${pages} requests for two days of candles, and to see that there is nothing before`)
  const endedAt = reached()
  await run([XRP], 100)
  t.ok(requests.length <= freshSince(endedAt), `nothing is asked for again, but for ${requests.length}`)
})

t.test('a coin ends where Binance lists it later than Upbit, not where Binance halts it', async t => {
  const { run, samplesOf } = await openImport(t)
  halt('binance', XRP.binance, day(5).at, day(4).at - MINUTE_MS, 'none')
  // Inside of a block, whatever day it is.
  halt('binance', XRP.binance, 0, day(7).at + 730 * MINUTE_MS, 'none')
  const skipped = await run([XRP], 100)
  t.match(
    skipped.map(({ reason, from, to }) => ({ reason, from, to })),
    [
      { reason: 'binance-down', from: day(7).date, to: day(5).date },
      { reason: 'XRPUSDT has no older candles: not listed yet', from: day(100).date, to: day(7).date },
    ],
  )
  t.equal((await samplesOf('XRP')).get(day(6).date), 1_440, 'older than the halt')
  const asked = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(asked < 60, `${asked} requests for four days of candles, and to see that there is nothing before`)
})

t.test('progress counts the days that are left, and no more those of a coin that is left out', async t => {
  const { run } = await openImport(t)
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: ETH.upbit, status: 404, on: 'rest' })
  const reports: number[] = []
  await run([ETH, BTC], 12, { onProgress: left => void reports.push(left) })
  const [first, next = 0] = reports
  t.equal(first, 20)
  t.ok(next >= 5 && next <= 9, `${next} of BTC after a step`)
  t.equal(reports.at(-1), 0)
})

// docs/faults.md, 41
t.test('a coin that is refused is left out and named, the others are whole', async t => {
  const { run, samplesOf } = await openImport(t)
  const whole = async (symbol: string) => [...(await samplesOf(symbol)).values()]
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: ETH.upbit, status: 404, on: 'rest' })
  t.match(await run([ETH, BTC], 4), [{ symbol: 'ETH', reason: /HTTP 404/, days: 2, from: day(4).date }])
  t.strictSame(await whole('BTC'), [1_440, 1_440])
  simulator.faults.clear()
  t.strictSame(await run([ETH, BTC], 4), [], 'and it is tried again the next time')
  t.strictSame(await whole('ETH'), [1_440, 1_440])
})

t.test('a coin whose days the candles leave undecided is left out and named', async t => {
  const { run, samplesOf } = await openImport(t)
  halt('binance', 'BTCUSDT', Date.now() - DAY_MS, Date.now() + DAY_MS)
  t.match(await run([ETH], 4), [{ symbol: 'ETH', reason: /undecided/, days: 2, from: day(4).date }])
  t.strictSame(await samplesOf('ETH'), new Map())
  simulator.faults.clear()
  t.strictSame(await run([ETH], 4), [], 'and it is tried again the next time')
  t.strictSame([...(await samplesOf('ETH')).values()], [1_440, 1_440])
})

t.test('an import stops where the rate begins', async t => {
  const { run, samplesOf } = await openImport(t)
  halt('upbit', 'KRW-USDT', 0, day(4).at)
  const skipped = await run([BTC, XRP], 300)
  for (const symbol of ['BTC', 'XRP']) {
    t.equal([...(await samplesOf(symbol)).values()].filter(count => count === 1_440).length, 1, symbol)
    t.match(
      skipped.find(entry => entry.symbol === symbol && /KRW-USDT has no older candles/.test(entry.reason)),
      { from: day(300).date },
    )
  }
  // The simulator has nothing older only two weeks before its last candle.
  const asked = requestsFor('upbit').filter(({ market }) => market === XRP.upbit).length
  t.ok(asked <= (5 + 15) * 8, `${asked} requests for four days of candles`)
  const endedAt = reached()
  await run([BTC, XRP], 300)
  t.ok(
    requests.length <= freshSince(endedAt) + 1,
    `only where the rate begins is asked for again, by ${requests.length}`,
  )
})

// docs/faults.md, 62
t.test('a coin whose candles fail for ten minutes is left out and named, the others are whole', async t => {
  const { run, samplesOf } = await openImport(t)
  skippedFrom = 400
  t.teardown(() => {
    skippedFrom = MINUTE_MS
  })
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', market: ETH.upbit, status: 500, on: 'rest' })
  const before = clock.elapsed()
  t.match(await run([BTC, ETH], 3), [{ symbol: 'ETH', reason: /500/, days: 1, mayImportAgain: true }])
  t.ok(clock.elapsed() - before > 8 * MINUTE_MS, 'it was asked for long enough for an outage to end')
  t.strictSame([...(await samplesOf('BTC')).values()], [1_440])
})

// docs/faults.md, 103
t.test('a row that cannot be read leaves its day to another import, and no other', async t => {
  const { run, samplesOf } = await openImport(t)
  const bad = TODAY - 4 * DAY_MINUTES + 100
  const spoilt = {
    fetchCandles: async (range: CandleRequest) => {
      const page = await rest.fetchCandles(range)
      const candles = page.candles.filter(([minute]) => minute !== bad)
      const isSpoilt = range.market === ETH.upbit && candles.length < page.candles.length
      return isSpoilt ? { candles, unreadable: [bad], message: 'bad' } : page
    },
  }
  const reason = /leave minutes undecided/
  t.match(await run([ETH], 5, { rest: spoilt }), [
    { reason, days: 1, from: day(4).date, to: day(4).date, mayImportAgain: true },
  ])
  t.strictSame(await samplesOf('ETH'), new Map([5, 3].map(ago => [day(ago).date, 1_440])))
})

t.test('an import waits for a Redis that is away, and goes on', async t => {
  const { run, samplesOf, reader, writer } = await openImport(t)
  const away = () => Promise.reject(new KimchiError('KIMCHI_ERR_REDIS', 'connection lost'))
  let failures = 0
  /** Fails once, and then works. */
  const once = <A extends unknown[], R>(work: (...args: A) => Promise<R>) => {
    let hasFailed = false
    return (...args: A): Promise<R> => {
      if (hasFailed) return work(...args)
      hasFailed = true
      failures += 1
      return away()
    }
  }
  const skipped = await run([BTC], 3, {
    reader: {
      readDays: once(symbol => reader.readDays(symbol)),
      readImported: once(symbol => reader.readImported(symbol)),
    },
    writer: {
      importDay: once((symbol, row) => writer.importDay(symbol, row)),
      markImported: once((symbol, dates) => writer.markImported(symbol, dates)),
    },
  })
  t.strictSame(skipped, [])
  t.equal(failures, 4)
  t.equal((await samplesOf('BTC')).get(day(3).date), 1_440)
})

t.test('an import that Redis refuses ends with the reason', async t => {
  const { run, writer } = await openImport(t)
  const refused = () => Promise.reject(new KimchiError('KIMCHI_ERR_PRICES_KIND', 'holds live prices'))
  await t.rejects(run([BTC], 3, { writer: { importDay: refused, markImported: writer.markImported } }), {
    message: 'holds live prices',
  })
})

t.test('a day that was marked as imported and whose row is lost is asked for again', async t => {
  const { run, samplesOf, raw, writer } = await openImport(t)
  await writer.markImported('BTC', [day(3).date])
  await run([BTC], 3)
  t.equal((await samplesOf('BTC')).get(day(3).date), 1_440)
  await raw.hset(
    '{kp}:daily:BTC',
    day(3).date,
    String(await raw.hget('{kp}:daily:BTC', day(3).date)).replace('1440', '1439'),
  )
  await writer.markImported('BTC', [day(3).date])
  const endedAt = reached()
  await run([BTC], 3)
  t.ok(requests.length <= freshSince(endedAt), 'with its row it is not')
})

t.test('a day that an import has left partial, without a mark, is completed by the next one', async t => {
  const { run, samplesOf, raw } = await openImport(t)
  await run([BTC], 3)
  const row = JSON.parse(String(await raw.hget('{kp}:daily:BTC', day(3).date)))
  await raw.hset('{kp}:daily:BTC', day(3).date, JSON.stringify({ ...row, samples: 700 }))
  t.strictSame(await run([BTC], 3), [])
  t.equal((await samplesOf('BTC')).get(day(3).date), 1_440)
})

t.test('a day with implausible minutes is asked for again once ALLOW names the coin', async t => {
  const { run, raw, samplesOf } = await openImport(t)
  await raw.sadd('{kp}:imported:BTC', `${day(3).date} empty implausible`)
  await run([BTC], 3)
  t.equal((await samplesOf('BTC')).get(day(3).date), undefined)
  await run([{ ...BTC, allowed: true }], 3)
  t.equal((await samplesOf('BTC')).get(day(3).date), 1_440)
})

t.test('a day of which samples are still kept is left to another import, and named', async t => {
  const { run, writer, samplesOf } = await openImport(t)
  const before = await samplesOf('BTC')
  t.match(
    await run([BTC], 3, {
      writer: { importDay: async () => 'refused', markImported: (...args) => writer.markImported(...args) },
    }),
    [{ symbol: 'BTC', reason: /keeps single samples/, days: 1, from: day(3).date, mayImportAgain: true }],
  )
  t.strictSame(await samplesOf('BTC'), before)
})
