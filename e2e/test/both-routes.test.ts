import { isDeepStrictEqual } from 'node:util'
import { averageE4, type Day, foldDays, formatTimestamp, parseTimestamp } from '@kimchi/core'
import { eventually, readSamples, sampleProblem } from '@kimchi/testkit'
import t from 'tap'
import { getJson, startReplicas } from '../src/apps.ts'
import { openTestbed } from '../src/testbed.ts'

const COINS = ['BTC', 'ETH', 'XRP', 'DOGE']

type Row = Readonly<
  Record<'symbol' | 'snapshot_at', string> &
    Record<'premium_pct' | 'upbit_krw' | 'binance_usdt' | 'usdt_krw', number>
>
type LiveList = { readonly updated_at: string; readonly data: readonly Row[] }

t.test('prices sent by the exchanges come out of both routes', async t => {
  const { redis, raw, exchanges, start } = await openTestbed(t, COINS)
  const { apiPort } = await startReplicas(t, redis.url)
  const api = `http://127.0.0.1:${apiPort}/api/v1/kimchi-premium`
  // Days are of UTC wherever an ingester runs.
  const ingester = start({ TZ: 'America/St_Johns' })

  const isLive = ({ updated_at }: LiveList) =>
    ingester.lines
      .filter(line => line.includes('"msg":"minute"'))
      .map(line => JSON.parse(line))
      .some(({ minute, samples }) => samples === COINS.length && formatTimestamp(minute) === updated_at)
  const list = await eventually('a live minute of every coin', async () => {
    const answer = await getJson<LiveList>(api)
    return answer?.status === 200 && isLive(answer.body) && answer.body
  })
  t.match(list, {
    result: 'ok',
    count: COINS.length,
    note: /^SIMULATED PRICES\. Premium is USDT-based/,
    data: COINS.map(symbol => ({ symbol, snapshot_at: list.updated_at })),
  })
  const minute = Number(parseTimestamp(list.updated_at))
  for (const {
    symbol,
    upbit_krw: upbitKrw,
    binance_usdt: binanceUsdt,
    usdt_krw: usdtKrw,
    ...row
  } of list.data) {
    const premiumE4 = row.premium_pct * 10_000
    const sample = { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source: 'live' } as const
    t.equal(sampleProblem(sample, exchanges), undefined, `${symbol} is what exchanges of this seed send`)
  }

  t.equal(await ingester.end('SIGTERM'), 0, 'the ingester ends in order')
  for (const symbol of COINS) {
    const samples = await readSamples(raw, symbol, finding => t.fail(finding))
    t.ok(samples.some(sample => sample.source === 'live' && sample.minute === minute))
    const days = foldDays(samples).map(publishedDay)
    await eventually(`${symbol}'s days are the fold of its stored samples`, async () => {
      const answer = await getJson<{ data: unknown[] }>(`${api}/${symbol.toLowerCase()}/daily`)
      return isDeepStrictEqual(answer?.body.data, days)
    })
  }
})

/** A day as callers see it. */
function publishedDay({ date, open, high, low, close, sum, samples }: Day) {
  const [open_pct, high_pct, low_pct, close_pct] = [open, high, low, close].map(e4 => e4 / 10_000)
  const avg_pct = averageE4({ sum, samples }) / 10_000
  return { date, open_pct, high_pct, low_pct, close_pct, avg_pct, samples }
}
