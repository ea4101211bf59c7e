import { MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import { YESTERDAY } from './support/backfill-bench.ts'
import { openLockstep } from './support/lockstep.ts'
import { MARKET, MARKET_COINS } from './support/market.ts'

/** KRW-USDT on 2025-10-10, over the 1,425 that was normal. */
const JUMP = 1_655 / 1_425

const RATE_JUMP = { kind: 'price', exchange: 'upbit', market: 'KRW-USDT', factor: JUMP } as const

/** For how long: two ends of minutes lie in it, whenever it begins. */
const TWO_MINUTES_MS = 2 * MINUTE_MS

// docs/faults.md, 72
t.test('the rate jumps by 16 % for two minutes: true samples of all coins, no quarantine', async t => {
  const { simulator, reader, read, pass, passUntil, start, minute } = await openLockstep(t, {
    coins: MARKET_COINS,
  })
  await start()
  await passUntil('all coins are live', async () => (await read.live()).length === MARKET.length)
  await pass(1)
  const first = minute()
  simulator.faults.set({ ...RATE_JUMP, forMs: TWO_MINUTES_MS })
  await pass(1.2)
  t.equal((await reader.readSamples('BTC', first + 1, first + 2)).entries.length, 0, 'the first minute waits')
  await pass(5)

  const rates = new Map<string, string>()
  for (const symbol of await read.live()) {
    const { entries } = await reader.readSamples(symbol, first, first + 6)
    rates.set(symbol, entries.map(({ usdtKrw }) => (usdtKrw > 1_550 ? 'jump' : 'usual')).join(' '))
  }
  t.equal(rates.size, MARKET.length)
  t.strictSame([...new Set(rates.values())], ['usual jump jump usual usual usual'], 'no minute is missing')
  t.match(await read.status(), { quarantined_coins: '', samples_dropped: '0', gaps_last_minute: 'none' })
})

// docs/faults.md, 72
t.test('a rate that jumps at the end of one minute only is left to backfill', async t => {
  const paths: string[] = []
  const symbols = ['BTC', 'ETH', 'XRP']
  const { clock, simulator, reader, read, pass, passUntil, start, minute } = await openLockstep(t, {
    at: 20,
    coins: MARKET_COINS.filter(({ id }) => [...symbols, 'USDT'].includes(id)),
    onRequest: ({ path }) => paths.push(path),
  })
  await start({ env: { BACKFILL_DAYS: '1' } })
  const isWhole = async (from: number, to: number) => {
    const days = await Promise.all(symbols.map(symbol => reader.readSamples(symbol, from, to)))
    return days.every(({ entries }) => entries.length === to - from)
  }
  await passUntil('the day before is filled', () => isWhole(YESTERDAY - 1_440, minute() - 5))
  // So that trades of the rate lie between the jump's begin, its end and the ends of their minutes.
  const intoMinuteMs = clock.now() % MINUTE_MS
  await pass(2.5 - intoMinuteMs / MINUTE_MS)
  const first = minute() - 1
  const before = paths.length
  simulator.faults.set({ ...RATE_JUMP, forMs: MINUTE_MS })
  await pass(4)
  await passUntil('every minute is stored', () => isWhole(first, minute() - 1))
  const asked = paths.slice(before).filter(path => /candles|klines/.test(path)).length
  // Two for each coin and reference market; the drift of a few coins costs some too.
  t.ok(asked <= 5 * (symbols.length + 3), `${asked} candle requests`)
  t.match(await read.status(), { samples_dropped: String(symbols.length), quarantined_coins: '' })
  for (const symbol of symbols) {
    const { entries } = await reader.readSamples(symbol, first, minute() - 1)
    t.equal(
      entries.filter(({ source }) => source === 'candle').length,
      1,
      `${symbol}: one minute by its candles`,
    )
  }
})
