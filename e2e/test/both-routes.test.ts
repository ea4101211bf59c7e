import { isDeepStrictEqual } from 'node:util'
import { averageE4, type Day, foldDays, formatTimestamp, parseTimestamp } from '@kimchi/core'
import type { Simulator } from '@kimchi/simulator'
import { eventually, readSamples } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { getJson, startReplicas } from '../src/apps.ts'
import { openTestbed } from '../src/testbed.ts'
import { hasAll, minutesOf } from './support/observations.ts'

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

t.test('prices sent by the exchanges come out of both routes', async t => {
  const { redis, raw, exchanges, start } = await openTestbed(t, { coins: COINS })
  const { apiPort } = await startReplicas(t, redis.url)
  const api = `http://127.0.0.1:${apiPort}/api/v1/kimchi-premium`
  const ingester = start('a')

  const isLive = ({ updated_at }: LiveList) =>
    minutesOf(ingester).some(line => hasAll(line) && formatTimestamp(line.minute) === updated_at)
  const list = await eventually('a live minute of every coin', async () => {
    const answer = await getJson<LiveList>(api)
    return answer?.status === 200 && isLive(answer.body) && answer.body
  })
  checkList(t, list, exchanges)

  t.equal(await ingester.end('SIGTERM'), 0, 'the ingester ends in order')
  for (const symbol of COINS) {
    const samples = await readSamples(raw, symbol, finding => t.fail(finding))
    t.ok(
      samples.some(({ minute, source }) => source === 'live' && minute === parseTimestamp(list.updated_at)),
    )
    const days = foldDays(samples).map(publishedDay)
    await eventually(`${symbol}'s days are the fold of its stored samples`, async () => {
      const answer = await getJson<{ data: unknown[] }>(`${api}/${symbol.toLowerCase()}/daily`)
      return isDeepStrictEqual(answer?.body.data, days)
    })
  }
})

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
