import { DAY_MINUTES, dateOf, dayStart, minuteOf, minuteStart, type Sample } from '@kimchi/core'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import { createMemoryLog, eventually, startRedis, stayClearOfMidnight } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { DayMending, type DayMendingOptions } from '../../src/minute/mend-days.ts'
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
  const calls: string[] = []
  const counting: DayMendingOptions['writer'] = {
    mendDays: (symbol, turn, turns) => {
      calls.push(`${symbol} ${turn} of ${turns}`)
      return writer.mendDays(symbol, turn, turns)
    },
  }
  const context = { clock, random: () => 0.5, log, signal: ending.signal }
  const mending = new DayMending({ reader, writer: counting }, context)
  const running = mending.run()
  t.teardown(() => {
    ending.abort()
    return running
  })
  /** Turns the clock coin by coin. */
  const turnRound = async () => {
    for (const _ of coins) {
      const before = calls.length
      await eventually('it waits for the next coin', async () => clock.waiting > 0)
      await clock.advance(36_000)
      await eventually('a coin is checked', async () => calls.length > before)
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
  t.strictSame(mending.status(), { mended: coins.length * days.length, problem: undefined })
  const warnings = log.lines.filter(({ level }) => level === 'warn').length
  await turnRound()
  t.equal(log.lines.filter(({ level }) => level === 'warn').length, warnings, 'nothing is mended twice')
})

// docs/faults.md, 115
t.test('each kept day is folded once an hour, though its counts are equal', async t => {
  const { raw, reader, today, days, coins, calls, turnRound } = await open(t)
  const key = `{kp}:samples:C3:${dateOf(today).replaceAll('-', '')}00`
  await raw.del(key)
  await raw.zadd(key, today + 5, 'garbage')
  for (let round = 0; round < 10; round++) await turnRound()
  t.strictSame(
    (await reader.readDays('C3')).entries.map(({ date }) => date),
    days.slice(1).map(dateOf).reverse(),
    'the minute is open again',
  )
  await turnRound()
  const rounds = [...Array(10).keys(), 0]
  t.strictSame(
    calls,
    rounds.flatMap(turn => coins.map(({ symbol }) => `${symbol} ${turn} of 10`)),
  )
})

t.test('a mending that fails is a warning and named, until it works again', async t => {
  const { raw, log, mending, turnRound } = await open(t)
  await raw.call('ACL', 'SETUSER', 'default', '-expireat')
  await turnRound()
  t.type(mending.status().problem, 'string')
  const warnings = log.lines.filter(({ message }) => message === 'days are not checked')
  t.match(warnings, [{ level: 'warn', fields: { reason: /NOPERM this user lacks \+expireat/ } }])
  t.equal(warnings.length, 1, 'not one for each coin')
  await raw.call('ACL', 'SETUSER', 'default', '+expireat')
  await turnRound()
  t.match(mending.status(), { problem: undefined })
})
