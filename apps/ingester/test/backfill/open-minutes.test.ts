import { type Coin, HOUR_MS, minuteStart } from '@kimchi/core'
import { HttpError } from '@kimchi/feeds'
import type { MinuteRange } from '@kimchi/store'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { OpenMinutes } from '../../src/backfill/open-minutes.ts'
import { BTC, ETH, silent } from '../support/backfill-bench.ts'

/** 00:00 UTC of a day, and a multiple of a window. */
const D = 20_005 * 1_440

/** Open minutes as Redis would name them, of each coin. */
function open({ at = D + 600, secondsInto = 30, days = 1 } = {}) {
  const clock = createManualClock(minuteStart(at) + secondsInto * 1_000)
  const redis = new Map<string, readonly MinuteRange[]>()
  const reads: { symbol: string; from: number; to: number }[] = []
  const reader: ConstructorParameters<typeof OpenMinutes>[0] = {
    readOpenMinutes: async (symbol, from, to) => {
      reads.push({ symbol, from, to })
      return (redis.get(symbol) ?? [])
        .map(({ start, end }) => ({ start: Math.max(start, from), end: Math.min(end, to) }))
        .filter(({ start, end }) => start < end)
    },
  }
  const openMinutes = new OpenMinutes(reader, days, {
    clock,
    random: () => 0.5,
    log: silent,
    signal: new AbortController().signal,
  })
  /** The window to be filled next. */
  const next = async () => {
    const { value } = await openMinutes.due(1).next()
    return value ?? undefined
  }
  /** The same, and it is filled. */
  const filled = async () => {
    const window = await next()
    if (window !== undefined) openMinutes.finish(window)
    return window
  }
  return { clock, redis, reader, reads, openMinutes, next, filled }
}

/** First and last minutes of what came, by coin. */
async function order(next: ReturnType<typeof open>['filled'], count: number) {
  const came: [string, number, number][] = []
  for (let at = 0; at < count; at++) {
    const window = await next()
    if (window === undefined) break
    came.push([window.coin.symbol, (window.minutes[0] ?? 0) - D, (window.minutes.at(-1) ?? 0) - D])
  }
  return came
}

t.test('a coin’s open minutes come by blocks of Upbit, the newest first', async t => {
  const { redis, openMinutes, filled } = open()
  redis.set('BTC', [
    { start: D - 20, end: D + 5 },
    { start: D + 190, end: D + 205 },
    { start: D + 250, end: D + 260 },
  ])
  openMinutes.follow([BTC])
  t.equal((await filled())?.minutes.length, 15, 'D + 200 to 204, D + 250 to 259')
  t.equal((await filled())?.minutes.length, 15, 'D to D + 4, D + 190 to 199')
  t.equal(openMinutes.count, 20)
  t.strictSame(await order(filled, 3), [['BTC', -20, -1]])
  t.equal(openMinutes.count, 0)
})

t.test('minutes before the days that are filled are left alone, though of the same window', async t => {
  const { redis, openMinutes, filled } = open({ at: D + 2_000, days: 0 })
  redis.set('BTC', [{ start: D + 1_410, end: D + 1_450 }])
  openMinutes.follow([BTC])
  t.strictSame(await order(filled, 2), [['BTC', 1_440, 1_449]])
})

t.test('minutes that have grown too old while they waited are forgotten', async t => {
  const { clock, redis, openMinutes, next } = open({ at: D + 1_439, days: 0 })
  redis.set('BTC', [{ start: D + 1_410, end: D + 1_420 }])
  openMinutes.follow([BTC])
  const window = await next()
  if (window !== undefined) openMinutes.fail(window, new Error('socket hang up'))
  t.equal(await next(), undefined)
  t.equal(openMinutes.count, 10)
  redis.delete('BTC')
  await clock.advance(35_000)
  t.equal(await next(), undefined)
  t.equal(openMinutes.count, 0)
})

t.test('minutes whose candles cannot be fetched stay known, and Redis is not asked for all days', async t => {
  const { redis, reads, openMinutes, next } = open()
  redis.set('BTC', [{ start: D + 400, end: D + 500 }])
  openMinutes.follow([BTC])
  const window = await next()
  if (window !== undefined) openMinutes.fail(window, new Error('socket hang up'))
  t.equal(openMinutes.count, 100)
  reads.length = 0
  t.equal(await next(), undefined)
  t.strictSame(reads, [])
})

t.test('open minutes of the last ten come before all others, then the newer block of Binance', async t => {
  const { redis, openMinutes, filled } = open({ days: 2 })
  redis.set('BTC', [
    { start: D - 1_700, end: D - 1_690 },
    { start: D + 300, end: D + 310 },
  ])
  redis.set('ETH', [
    { start: D - 900, end: D - 890 },
    { start: D + 595, end: D + 600 },
  ])
  openMinutes.follow([BTC, ETH])
  t.strictSame(await order(filled, 5), [
    ['ETH', 595, 599],
    ['BTC', 300, 309],
    ['ETH', -900, -891],
    ['BTC', -1_700, -1_691],
  ])
})

t.test(
  'the whole retention is read every five minutes, the last fifteen minutes every minute, by one call a coin',
  async t => {
    const { clock, reads, openMinutes, next } = open()
    openMinutes.follow([BTC])
    for (let second = 0; second < 600; second++) {
      await next()
      await clock.advance(1_000)
    }
    t.strictSame(
      reads.map(({ from, to }) => (from === D - 1_440 ? 'all' : to - from)),
      ['all', 15, 15, 15, 15, 'all', 15, 15, 15, 15],
    )
  },
)

t.test(
  'a window that another ingester has decided meanwhile is forgotten, and the next one is due',
  async t => {
    const { redis, openMinutes } = open()
    const older = { start: D - 90, end: D - 80 }
    redis.set('BTC', [{ start: D + 300, end: D + 310 }])
    redis.set('ETH', [older, { start: D + 20, end: D + 30 }])
    openMinutes.follow([BTC, ETH])
    const windows = openMinutes.due(2)
    t.match(await windows.next(), { value: { coin: BTC } })
    t.equal(openMinutes.count, 30)
    redis.set('ETH', [{ ...older, start: D - 85 }])
    t.strictSame(
      (await windows.next()).value?.minutes,
      [-85, -84, -83, -82, -81].map(at => D + at),
    )
  },
)

// docs/faults.md, 15
t.test('the minute of the start is open at once, whatever the second', async t => {
  for (const secondsInto of [0, 1, 5, 9, 10, 30, 59]) {
    const { clock, redis, openMinutes, next } = open({ secondsInto })
    redis.set('BTC', [{ start: D + 600, end: D + 601 }])
    openMinutes.follow([BTC])
    const startedAt = clock.now()
    let window = await next()
    for (; window === undefined && clock.now() < startedAt + 180_000; window = await next())
      await clock.advance(1_000)
    t.strictSame(window?.minutes, [D + 600], `started at second ${secondsInto}`)
    t.ok(clock.now() - startedAt <= 70_000, `known after ${clock.now() - startedAt} ms`)
  }
})

t.test('a gap is read ten seconds after its minute, an unreported minute after three', async t => {
  const { clock, redis, openMinutes, next, filled } = open()
  redis.set('BTC', [{ start: D + 601, end: D + 700 }])
  openMinutes.follow([BTC])
  t.equal(await next(), undefined, 'the minute loop has the first word')
  await clock.advance(34_000)
  openMinutes.noteMinute(D + 601)
  t.equal(await next(), undefined, 'its candles are not complete')
  await clock.advance(6_000)
  t.strictSame(await order(filled, 3), [['BTC', 601, 601]])
  await clock.advance(60_000)
  openMinutes.noteMinute(D + 602)
  t.strictSame(await order(filled, 3), [['BTC', 601, 602]])
  await clock.advance(minuteStart(D + 606) - clock.now())
  t.strictSame(await order(filled, 1), [['BTC', 601, 603]], 'without a word of the loop')
})

t.test('a coin that has left is forgotten', async t => {
  const { redis, openMinutes, next } = open()
  redis.set('BTC', [{ start: D + 10, end: D + 20 }])
  openMinutes.follow([BTC])
  t.ok(await next())
  openMinutes.follow([ETH])
  t.equal(await next(), undefined)
  openMinutes.follow([{ ...BTC, binance: 'OTHER' }])
  t.equal(openMinutes.count, 0, 'the same symbol on other markets is another coin')
})

// docs/faults.md, 41
t.test(
  'a coin whose candles cannot be fetched waits some seconds, and twice as long each time, up to an hour',
  async t => {
    const { redis, openMinutes, clock, next, filled } = open()
    redis.set('BTC', [{ start: D + 10, end: D + 20 }])
    openMinutes.follow([BTC, ETH] satisfies Coin[])
    const startedAt = clock.now()
    const at: number[] = []
    for (; clock.now() - startedAt < 10 * HOUR_MS; await clock.advance(1_000)) {
      const window = await next()
      if (window === undefined) continue
      at.push(clock.now() - startedAt)
      openMinutes.fail(window, new HttpError('KIMCHI_ERR_REST', 'HTTP 404', 404))
    }
    t.strictSame(
      at.slice(1, 13).map((ms, index) => (ms - (at[index] ?? 0)) / 1_000),
      [8, 15, 30, 60, 120, 240, 480, 960, 1_920, 2_700, 2_700, 2_700],
    )
    await clock.advance(HOUR_MS)
    await filled()
    t.strictSame(openMinutes.troubled, [], 'a success forgives')
    let again: Awaited<ReturnType<typeof next>>
    for (let minute = 0; again === undefined && minute < 5; minute++) {
      await clock.advance(60_000)
      again = await next()
    }
    if (again !== undefined) openMinutes.fail(again, new Error('socket hang up'))
    t.match(openMinutes.troubled, [
      { symbol: 'BTC', reason: 'socket hang up', waitsUntil: clock.elapsed() + 7_500 },
    ])
    await clock.advance(7_500)
    t.ok(await filled())
    t.strictSame(openMinutes.troubled, [])
  },
)

t.test('a clock that steps back hours delays reads by a minute, not by hours', async t => {
  const { clock, redis, reads, openMinutes, next } = open()
  redis.set('BTC', [{ start: D + 10, end: D + 20 }])
  openMinutes.follow([BTC])
  await next()
  clock.step(-2 * HOUR_MS)
  reads.length = 0
  for (let second = 0; second < 61; second++) {
    await next()
    await clock.advance(1_000)
  }
  t.equal(reads.filter(({ to }) => to > D + 20).length, 1, 'but for that of the window')
})

t.test('a clock that steps back hours makes no coin wait for hours', async t => {
  const { redis, openMinutes, clock, next } = open()
  redis.set('BTC', [{ start: D + 10, end: D + 20 }])
  openMinutes.follow([BTC] satisfies Coin[])
  const window = await next()
  if (window !== undefined) openMinutes.fail(window, new Error('socket hang up'))
  clock.step(-3 * HOUR_MS)
  await next()
  await clock.advance(HOUR_MS)
  t.ok(await next())
})

t.test('a reconnect while Redis names the open minutes has them read once more', async t => {
  const { reads, openMinutes, next } = open()
  openMinutes.follow([BTC])
  const reading = next()
  openMinutes.readAgain()
  await reading
  await next()
  t.equal(reads.length, 2)
})

t.test('a coin whose open minutes Redis could not name is read again at once', async t => {
  const { reader, reads, openMinutes, next } = open()
  openMinutes.follow([BTC])
  const { readOpenMinutes } = reader
  reader.readOpenMinutes = async () => {
    throw new Error('Connection is closed.')
  }
  await t.rejects(next(), /closed/)
  reader.readOpenMinutes = readOpenMinutes
  await next()
  t.equal(reads.length, 1)
})
