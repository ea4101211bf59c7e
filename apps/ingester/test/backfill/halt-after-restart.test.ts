import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET_COINS } from '../support/market.ts'

// docs/faults.md, 39
t.test('minutes of a halt stay gaps after the ingester that saw it has ended', async t => {
  const coins = MARKET_COINS.filter(({ id }) => ['BTC', 'SOL', 'USDT'].includes(id))
  const { simulator, read, pass, passUntil, start, minute } = await openLockstep(t, { coins })
  const env = { COINS: 'BTC,SOL', BACKFILL_DAYS: '1' }
  const first = await start({ env })
  await passUntil('the first minute', async () => (await read.live()).includes('SOL'))
  const resume = simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'SOLUSDT' })
  await passUntil('the halt is known', async () => !(await read.live()).includes('SOL'))
  // In the minute before, SOL still traded: candles may fill that one.
  const knownAt = minute() + 1
  await pass(3)
  await first.close()
  const endedAt = minute()
  resume()
  await pass(2)
  const startedAt = minute()
  await start({ id: 'b', env })
  const storedBetween = async (from: number, to: number) =>
    (await read.minutesOf('SOL')).filter(at => at >= from && at < to)
  await passUntil('what nobody saw is filled', async () => {
    return (await storedBetween(endedAt + 1, startedAt)).length === startedAt - endedAt - 1
  })
  await passUntil('nothing is left', async () => (await read.status('b')).open_minutes === '0')
  t.strictSame(await storedBetween(knownAt, endedAt), [])
})
