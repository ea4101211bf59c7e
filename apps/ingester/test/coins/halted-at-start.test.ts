import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET, MARKET_COINS } from '../support/market.ts'

// docs/faults.md, 45
t.test('a coin of COINS that is halted at a first start stops nobody, and joins when it trades', async t => {
  const { simulator, read, pass, passUntil, start } = await openLockstep(t, { coins: MARKET_COINS })
  const undo = [
    simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'DOGEUSDT' }),
    simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-SOL' }),
  ]
  await start({ env: { COINS: MARKET.join() } })
  await passUntil('the others', async () => (await read.live()).length > 0)
  await pass(3)
  t.strictSame(
    await read.live(),
    MARKET.filter(symbol => symbol !== 'DOGE' && symbol !== 'SOL'),
  )
  for (const resume of undo) resume()
  await pass(2.5)
  t.strictSame(await read.live(), MARKET, 'within 150 s')
})
