import { percentOf } from '@kimchi/core'
import { beginWildQuarter, sampleProblem, WILD_MINUTES } from '@kimchi/testkit'
import t from 'tap'
import { openLockstep } from './support/lockstep.ts'
import { MARKET, MARKET_COINS, withTrades } from './support/market.ts'

/** Each trades in each minute, so that each minute has prices of its own. */
const COINS = MARKET_COINS.map(coin => withTrades(coin, usual => Math.max(30, usual)))

// docs/faults.md, 72
t.test('the wildest quarter of an hour: each true row is shown and stored in its minute', async t => {
  const { simulator, clock, reader, read, pass, passUntil, start, minute } = await openLockstep(t, {
    coins: COINS,
  })
  await start()
  await passUntil('all coins are live', async () => (await read.live()).length === MARKET.length)
  await pass(1)
  beginWildQuarter(simulator, clock.now())
  const rows = { shown: 0, stored: 0 }
  const premiums: number[] = []
  for (let passed = 0; passed < WILD_MINUTES; passed++) {
    await pass(1)
    for (const { symbol, minute: at, premiumE4 } of (await reader.readBoard()).rows) {
      if (at === minute()) rows.shown += 1
      const [sample] = (await reader.readSamples(symbol, minute(), minute() + 1)).entries
      if (sample?.source === 'live' && sampleProblem(sample, simulator) === undefined) rows.stored += 1
      premiums.push(percentOf(premiumE4))
    }
  }
  const all = WILD_MINUTES * MARKET.length
  t.strictSame(rows, { shown: all, stored: all })
  const [least, most] = [Math.min(...premiums), Math.max(...premiums)]
  t.ok(least < -50 && most > 130, `premiums from ${least} % to ${most} %`)
  t.match(await read.status(), { held_back: '', gaps_last_minute: 'none' })
})
