import { existsSync, readFileSync } from 'node:fs'
import { type EpochMinute, minuteOf, premiumE4, type Sample } from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import t from 'tap'
import { CandleBlock } from '../../src/backfill/candle-block.ts'
import { candleSampleOrGap } from '../../src/backfill/decide-minutes.ts'

/** Recorded exchange data, beside the repository; absent in a plain clone. */
const RECORDED = new URL('../../../../../shared/recorded/', import.meta.url)
const skip = existsSync(RECORDED) ? false : 'the recorded exchange data is not beside this repository'

/**
 * The won stood at 1,350 to 1,400 for a dollar from June to August 2025; no KRW-USDT of that time was
 * recorded.
 */
const RATE = 1_380

t.test(
  'real closes of both exchanges make plausible premiums that anyone can recompute',
  { skip },
  async t => {
    const upbit = csv('upbit-candles/KRW-BTC-5m.2025-05-28_08-23.csv')
    const binance = csv('binance-klines/BTCUSDT-5m.2025-05-28_08-23.matching.csv')
    t.equal(upbit.length, 5_200)
    const rate = blockOf(upbit.map(([minute]) => [minute, RATE, 1]))
    const legs = { ...btcLegs(upbit, binance), rate }
    const premiums: number[] = []
    for (const [index, [minute, krw]] of upbit.entries()) {
      const sample = candleSampleOrGap({ symbol: 'BTC' }, minute, legs) as Sample
      t.equal(sample.upbitKrw, krw)
      t.equal(sample.binanceUsdt, binance[index]?.[1])
      const exact = (sample.upbitKrw / (sample.binanceUsdt * RATE) - 1) * 100
      if (Math.abs(sample.premiumE4 / 10_000 - exact) > 0.000_050_1)
        t.fail(`${sample.premiumE4} is not ${exact}`)
      premiums.push(sample.premiumE4)
    }
    premiums.sort((a, b) => a - b)
    const [least = 0, median = 0, most = 0] = [premiums[0], premiums[premiums.length >> 1], premiums.at(-1)]
    t.comment(`premium at ${RATE} KRW per USDT: ${least / 1e4} %, median ${median / 1e4} %, ${most / 1e4} %`)
    t.ok(least > -50_000 && most < 80_000, 'within −5 and +8 %')
    t.ok(median > -20_000 && median < 40_000, 'the median within −2 and +4 %')
  },
)

t.test('the Binance outage of 2023-03-24 is a gap in exactly its minutes', { skip }, async t => {
  for (const symbol of ['BTC', 'ETH', 'ADA', 'SOL']) {
    const [binance, reference] = [symbol, 'BTC'].map(base =>
      json(`binance-klines/${base}USDT-1m.2023-03-24_25.outage.json`),
    ) as [MinuteCandle[], MinuteCandle[]]
    const from = binance[0]?.[0] ?? 0
    const everyMinute = Array.from({ length: 2_880 }, (_, offset) => from + offset)
    const steady = blockOf(everyMinute.map(minute => [minute, RATE, 1]))
    const legs = {
      upbit: steady,
      rate: steady,
      upbitReference: steady,
      binance: blockOf(binance),
      binanceReference: blockOf(reference),
    }
    const gaps = new Map<EpochMinute, string>()
    for (const minute of everyMinute) {
      const outcome = candleSampleOrGap({ symbol, allowed: true }, minute, legs)
      if (typeof outcome === 'string') gaps.set(minute, outcome)
    }
    const halted = minuteOf(Date.UTC(2023, 2, 24, 11, 29))
    const back = minuteOf(Date.UTC(2023, 2, 24, 14, 1))
    t.strictSame(
      [...gaps.keys()].map(minute => minute - halted),
      Array.from({ length: back - halted }, (_, offset) => offset),
      `${symbol}: candles from 11:28 to 13:59`,
    )
    t.strictSame(new Set(gaps.values()), new Set(['binance-down']))
  }
})

t.test('an idle Binance market is sampled while the exchange is up', { skip }, async t => {
  const iota = json('binance-klines/IOTABTC-1m.2023-04-10.illiquid.json')
  const idle = iota.filter(([, , volume]) => volume === 0)
  t.equal(idle.length, 969)
  const legs = btcLegs(
    iota.map(([minute]) => [minute, 0.01, 1]),
    iota,
  )
  const rate = blockOf(iota.map(([minute]) => [minute, RATE, 1]))
  const reference = blockOf(iota.map(([minute]) => [minute, 30_000, 1]))
  const [firstTrade = 0] = iota.find(([, , volume]) => volume > 0) ?? []
  for (const [minute, close] of idle.filter(([minute]) => minute > firstTrade)) {
    const sample = candleSampleOrGap({ symbol: 'IOTA' }, minute, {
      ...legs,
      rate,
      binanceReference: reference,
    })
    if (typeof sample === 'string' || sample.binanceUsdt !== close)
      t.fail(`${minute}: ${JSON.stringify(sample)}`)
    if (candleSampleOrGap({ symbol: 'IOTA' }, minute, { ...legs, rate }) !== 'binance-down')
      t.fail(`${minute} without a reference`)
  }
})

t.test('a missing Upbit minute carries the close before it, for sixty minutes', { skip }, async t => {
  // Only Upbit's leg is recorded, so its premium means nothing.
  const coin = { symbol: 'BTC', allowed: true }
  const upbit = csv('upbit-candles/KRW-BTC-1m.2025-03_04.holey.csv')
  const [first, last] = [upbit[0]?.[0] ?? 0, upbit.at(-1)?.[0] ?? 0]
  const steady = blockOf(Array.from({ length: last - first + 100 }, (_, at) => [first + at, RATE, 1]))
  const series = blockOf(upbit)
  const legs = {
    upbit: series,
    rate: steady,
    upbitReference: steady,
    binance: steady,
    binanceReference: steady,
  }
  const hole = minuteOf(Date.UTC(2025, 2, 15, 19, 50))
  t.notOk(series.traded(hole + 1))
  t.match(candleSampleOrGap(coin, hole + 1, legs), { upbitKrw: series.lastTrade(hole)?.[1] })

  const outcomes = { own: 0, carried: 0, gap: 0, wrong: 0 }
  for (let minute = first; minute <= last; minute++) {
    const outcome = candleSampleOrGap(coin, minute, legs)
    const newest = series.lastTrade(minute)
    const age = minute - (newest?.[0] ?? 0)
    if (typeof outcome === 'string')
      outcomes[outcome === 'no-upbit-price' && age >= 60 ? 'gap' : 'wrong'] += 1
    else if (outcome.upbitKrw !== newest?.[1] || age >= 60) outcomes.wrong += 1
    else if (outcome.premiumE4 !== premiumE4(newest[1], RATE, RATE)) outcomes.wrong += 1
    else outcomes[age === 0 ? 'own' : 'carried'] += 1
  }
  t.equal(outcomes.wrong, 0)
  t.equal(outcomes.own, upbit.length)
  t.comment(`${outcomes.own} own, ${outcomes.carried} carried, ${outcomes.gap} gaps`)
  t.ok(outcomes.carried > 0 && outcomes.gap > 0)
})

function btcLegs(upbit: readonly MinuteCandle[], binance: readonly MinuteCandle[]) {
  const [krw, usdt] = [blockOf(upbit), blockOf(binance)]
  return { upbit: krw, upbitReference: krw, binance: usdt, binanceReference: usdt }
}

/** Candles in any order, each minute once, asked for long after. */
function blockOf(candles: readonly MinuteCandle[]): CandleBlock {
  const byMinute = new Map(candles.map(candle => [candle[0], candle]))
  return new CandleBlock(
    [...byMinute.values()].sort(([a], [b]) => a - b),
    Number.POSITIVE_INFINITY,
  )
}

function csv(path: string): MinuteCandle[] {
  const [, ...rows] = text(path).trim().split('\n')
  return rows.map(row => {
    const [time = '', , , , close, volume] = row.split(',')
    return [minuteOf(Date.parse(`${time.replace(' ', 'T')}Z`)) + 1, Number(close), Number(volume)]
  })
}

function json(path: string): MinuteCandle[] {
  const rows = JSON.parse(text(path)) as number[][]
  return rows.map(([at = 0, , , , close = 0, volume = 0]) => [minuteOf(at) + 1, close, volume])
}

function text(path: string): string {
  return readFileSync(new URL(path, RECORDED), 'utf8')
}
