import { percentOf } from '@kimchi/core'
import { sampleProblem } from '@kimchi/testkit'
import t from 'tap'
import { openLockstep } from './support/lockstep.ts'
import { MARKET, MARKET_COINS, withTrades } from './support/market.ts'

/**
 * Won prices of a quarter of an hour, minute by minute, as factors of those before: a crash like that of
 * 2024-12-03, the rate in it, and one coin that rises as others did; docs/coins.md#4-the-range-of-a-sample.
 */
const FACTORS: Readonly<Record<string, readonly number[]>> = {
  BTC: [0.93, 0.8, 0.67, 0.7, 0.79, 0.85, 0.94, 0.97, 0.99, 1],
  ETH: [0.91, 0.74, 0.62, 0.65, 0.77, 0.88, 0.93, 0.98, 1, 1],
  XRP: [0.84, 0.57, 0.38, 0.47, 0.69, 0.81, 0.9, 0.94, 0.98, 1],
  DOGE: [0.88, 0.66, 0.51, 0.63, 0.79, 0.86, 0.92, 0.97, 1, 1],
  LINK: [1.2, 1.55, 1.98, 2.3, 2.26, 2.05, 1.52, 1.21, 1.08, 1],
  USDT: [0.98, 0.93, 0.85, 0.88, 0.94, 1.02, 1.16, 1.08, 1.01, 1],
}

/** Each trades in each minute, so that each minute has prices of its own. */
const COINS = MARKET_COINS.map(coin => withTrades(coin, usual => Math.max(30, usual)))

// docs/faults.md, 72
t.test('the wildest quarter of an hour: each true row is shown and stored in its minute', async t => {
  const { simulator, reader, read, pass, passUntil, start, minute } = await openLockstep(t, {
    coins: COINS,
  })
  await start()
  await passUntil('all coins are live', async () => (await read.live()).length === MARKET.length)
  await pass(1)
  const minutes = FACTORS.BTC?.length ?? 0
  const rows = { shown: 0, stored: 0 }
  const premiums: number[] = []
  for (let index = 0; index < minutes; index++) {
    const factors = new Map(
      Object.entries(FACTORS).map(([symbol, each]) => [`KRW-${symbol}`, each[index] ?? 1]),
    )
    const ends = [...factors].map(([market, factor]) =>
      simulator.faults.set({ kind: 'price', exchange: 'upbit', market, factor }),
    )
    const lastFrame: typeof simulator.lastFrame = (exchange, market, at) => {
      const frame = simulator.lastFrame(exchange, market, at)
      return frame && { ...frame, price: frame.price * (factors.get(market) ?? 1) }
    }
    await pass(1)
    for (const { symbol, minute: at, premiumE4 } of (await reader.readBoard()).rows) {
      if (at === minute()) rows.shown += 1
      const [sample] = (await reader.readSamples(symbol, minute(), minute() + 1)).entries
      const truth = { prices: simulator.prices, lastFrame }
      if (sample?.source === 'live' && sampleProblem(sample, truth) === undefined) rows.stored += 1
      premiums.push(percentOf(premiumE4))
    }
    for (const end of ends) end()
  }
  const all = minutes * MARKET.length
  t.strictSame(rows, { shown: all, stored: all })
  const [least, most] = [Math.min(...premiums), Math.max(...premiums)]
  t.ok(least < -50 && most > 130, `premiums from ${least} % to ${most} %`)
  t.match(await read.status(), { held_back: '', gaps_last_minute: 'none' })
})
