import { DAY_MINUTES, dateOf, dayStart, minuteOf, minuteStart, type Sample } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import { createMemoryLog, eventually, startRedis, stayClearOfMidnight } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { DayMending } from '../../src/minute/mend-days.ts'
import { coinOf } from '../support/market.ts'

const PRICES = { upbitKrw: 150_000_000, binanceUsdt: 100_000, usdtKrw: 1_500, premiumE4: 0 }

function sampleOf(symbol: string, minute: number): Sample {
  return { symbol, minute, ...PRICES, source: 'live' }
}

/** Ten coins with nine days of one sample each, and the mending of an ingester of its own. */
async function open(t: Test) {
  await stayClearOfMidnight(Date.now())
  const redis = await startRedis(t)
  const connection = openRedis(redis.url)
  t.teardown(() => connection.close())
  await connection.untilReady(60_000)
  const log = createMemoryLog()
  const reader = new SampleReader({ redis: connection })
  const writer = new SampleWriter({ redis: connection, prices: 'live', retentionDays: 8, log })
  const today = dayStart(minuteOf(Date.now()))
  const days = Array.from({ length: 9 }, (_, back) => today - back * DAY_MINUTES)
  const coins = Array.from({ length: 10 }, (_, at) => coinOf(`C${at}`))
  await writer.track(coins)
  const samples = coins.flatMap(({ symbol }) => days.map(day => sampleOf(symbol, day)))
  await writer.write({ minute: today, samples })
  const clock = createManualClock(minuteStart(today))
  const ending = new AbortController()
  const calls = { uncounted: 0 }
  const counting = {
    readBoard: () => reader.readBoard(),
    readUncountedDays: (symbol: string, from: number, to: number) => {
      calls.uncounted += 1
      return reader.readUncountedDays(symbol, from, to)
    },
  }
  const context = { clock, random: () => 0.5, log, signal: ending.signal }
  const mending = new DayMending({ reader: counting, writer, retentionDays: 8 }, context)
  const running = mending.run()
  t.teardown(() => {
    ending.abort()
    return running
  })
  /** Turns the clock coin by coin. */
  const turnRound = async () => {
    for (const _ of coins) {
      const before = calls.uncounted
      await eventually('it waits for the next coin', async () => clock.waiting > 0)
      await clock.advance(30_000)
      await eventually('a coin is checked', async () => calls.uncounted > before)
    }
    await eventually('it waits', async () => clock.waiting > 0)
  }
  return { raw: redis.client(), reader, log, mending, today, days, coins, calls, turnRound }
}

// docs/faults.md, 63
t.test('every lost row, odd member and doubled minute of all coins is mended in one round', async t => {
  const { raw, reader, log, mending, today, days, coins, turnRound } = await open(t)
  const before = await Promise.all(coins.map(({ symbol }) => reader.readDays(symbol)))
  for (const { symbol } of coins) await raw.del(`{kp}:daily:${symbol}`)
  const key = `{kp}:samples:C3:${dateOf(today).replaceAll('-', '')}00`
  await raw.zadd(key, today + 5, 'garbage')
  await turnRound()
  const after = await Promise.all(coins.map(({ symbol }) => reader.readDays(symbol)))
  t.strictSame(after, before)
  t.equal(await raw.zcard(key), 1)
  t.strictSame(mending.status(), { mended: coins.length * days.length })
  const warnings = log.lines.filter(({ level }) => level === 'warn').length
  await turnRound()
  t.equal(log.lines.filter(({ level }) => level === 'warn').length, warnings, 'nothing is mended twice')
})
