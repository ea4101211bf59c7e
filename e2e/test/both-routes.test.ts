import { isDeepStrictEqual } from 'node:util'
import {
  averageE4,
  DAY_MINUTES,
  type Day,
  dayStart,
  foldDays,
  formatTimestamp,
  parseTimestamp,
  type Sample,
} from '@kimchi/core'
import type { Simulator } from '@kimchi/simulator'
import { openRedis, SampleReader } from '@kimchi/store'
import { eventually } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { getJson } from '../src/apps.ts'
import { minutesOf } from './support/observations.ts'
import { openService, openTruth } from './support/service.ts'

const COINS = ['BTC', 'ETH', 'XRP', 'DOGE']

interface LiveList {
  readonly result: string
  readonly updated_at: string
  readonly count: number
  readonly note: string
  readonly data: readonly {
    readonly symbol: string
    readonly premium_pct: number
    readonly upbit_krw: number
    readonly binance_usdt: number
    readonly usdt_krw: number
    readonly snapshot_at: string
  }[]
}

// docs/faults.md, 1
t.test(
  'prices sent by the exchanges come out of both routes, and no process takes a minute with it',
  async t => {
    const service = await openService(t, COINS)
    const { api, replica, redis } = service
    const truth = await openTruth(t)
    let exchanges = await service.startExchanges()
    let ingester = service.startIngester()

    // It may have started too shortly before a turn for that minute.
    const { minute } = await eventually('a minute with every coin', () =>
      minutesOf(ingester).find(({ samples, gaps }) => samples === COINS.length && gaps === 0),
    )
    const first = await nextList(api, formatTimestamp(minute - 1))
    t.equal(minuteOfList(first), minute)
    checkList(t, first, truth)

    // Each process is killed once in the middle of a minute, and starts again.
    await replica.process.end('SIGKILL')
    await replica.start()
    await ingester.end('SIGKILL')
    ingester = service.startIngester()
    await redis.kill()
    await redis.restart()
    await exchanges.end('SIGKILL')
    exchanges = await service.startExchanges()
    const served = await nextList(api, '')
    t.ok(served.updated_at >= first.updated_at, 'what was written before the kills is served after them')
    const second = await nextList(api, first.updated_at)
    t.equal(minuteOfList(second), minuteOfList(first) + 1, 'the very next minute is there')
    checkList(t, second, truth)

    t.equal(await ingester.end('SIGTERM'), 0, 'the ingester ends in order')
    for (const symbol of COINS) {
      const samples = await storedSamples(redis.url, symbol, minuteOfList(second))
      t.strictSame(
        samples
          .filter(({ minute }) => minute >= minuteOfList(first))
          .map(({ minute, source }) => [minute, source]),
        [
          [minuteOfList(first), 'live'],
          [minuteOfList(second), 'live'],
        ],
        `${symbol} has every minute exactly once`,
      )
      const days = foldDays(samples).map(publishedDay)
      await eventually(`${symbol}'s days are the fold of its stored samples`, async () => {
        const answer = await getJson<{ data: unknown[] }>(`${api}/${symbol.toLowerCase()}/daily`)
        return isDeepStrictEqual(answer?.body.data, days) ? days : undefined
      })
    }
  },
)

/** The first list that is newer than `after`. */
function nextList(api: string, after: string): Promise<LiveList> {
  return eventually(`a list newer than ${after || 'nothing'}`, async () => {
    const answer = await getJson<LiveList>(api)
    return answer?.status === 200 && answer.body.updated_at > after ? answer.body : undefined
  })
}

function minuteOfList(list: LiveList): number {
  return parseTimestamp(list.updated_at) as number
}

/** Compares every number of the list with the last frames that the exchanges made before its minute. */
function checkList(t: Test, list: LiveList, { lastFrame }: Simulator) {
  const at = Date.parse(`${list.updated_at}Z`)
  t.match(list, { result: 'ok', count: COINS.length, note: /^SIMULATED PRICES\. Premium is USDT-based/ })
  t.strictSame(
    list.data.map(row => row.symbol),
    COINS,
    'every tracked coin, in the configured order',
  )
  for (const row of list.data) {
    const expected = {
      upbit_krw: lastFrame('upbit', `KRW-${row.symbol}`, at)?.price,
      binance_usdt: lastFrame('binance', `${row.symbol}USDT`, at)?.price,
      usdt_krw: lastFrame('upbit', 'KRW-USDT', at)?.price,
      snapshot_at: list.updated_at,
    }
    t.match(row, expected, `${row.symbol} at ${list.updated_at} is what exchanges of this seed send`)
    const premium = (row.upbit_krw / (row.binance_usdt * row.usdt_krw) - 1) * 100
    t.ok(
      Math.abs(row.premium_pct - premium) <= 0.00005 + 1e-9,
      `${row.symbol}'s premium follows from its three prices`,
    )
  }
}

/** A day as callers see it. */
function publishedDay({ date, open, high, low, close, sum, samples }: Day) {
  const [open_pct, high_pct, low_pct, close_pct] = [open, high, low, close].map(e4 => e4 / 10_000)
  return {
    date,
    open_pct,
    high_pct,
    low_pct,
    close_pct,
    avg_pct: averageE4({ sum, samples }) / 10_000,
    samples,
  }
}

/** Everything stored of a coin up to a minute, backfill included. */
async function storedSamples(url: string, symbol: string, last: number): Promise<readonly Sample[]> {
  const redis = openRedis(url)
  try {
    await redis.untilReady(60_000)
    const reader = new SampleReader({ redis })
    const samples: Sample[] = []
    for (let start = dayStart(last) - 2 * DAY_MINUTES; start <= last; start += DAY_MINUTES) {
      samples.push(...(await reader.readSamples(symbol, start, start + DAY_MINUTES)).entries)
    }
    return samples
  } finally {
    await redis.close()
  }
}
