import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET_COINS } from '../support/market.ts'

const MARKET = ['BTC', 'ETH', 'SOL', 'DOGE']
const coins = MARKET_COINS.filter(({ id }) => [...MARKET, 'USDT'].includes(id))

// docs/faults.md, 45
t.test('a coin of COINS that is halted at a first start stops nobody, and joins when it trades', async t => {
  const { simulator, read, pass, passUntil, start } = await openLockstep(t, { coins })
  const undo = [
    simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'DOGEUSDT' }),
    simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-SOL' }),
  ]
  await start({ env: { COINS: MARKET.join() } })
  await passUntil('the others', async () => (await read.live()).length > 0)
  await pass(3)
  t.strictSame(await read.live(), ['BTC', 'ETH'])
  for (const resume of undo) resume()
  await pass(2.5)
  t.strictSame(await read.live(), MARKET, 'within 150 s')
})
