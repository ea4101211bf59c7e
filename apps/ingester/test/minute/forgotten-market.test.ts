import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET_COINS } from '../support/market.ts'

// docs/faults.md, 39
t.test('a market that Upbit forgets leaves the list within four minutes, one that rests stays', async t => {
  const { simulator, read, pass, passUntil, start } = await openLockstep(t, { coins: MARKET_COINS })
  await start()
  await passUntil('the first minute', async () => (await read.live()).includes('DOGE'))
  for (const market of ['KRW-DOGE', 'KRW-TRX'])
    simulator.faults.set({ kind: 'outage', exchange: 'upbit', market })
  const remember = simulator.faults.set({ kind: 'silence', exchange: 'upbit', market: 'KRW-DOGE' })
  await pass(4)
  const live = await read.live()
  t.notOk(live.includes('DOGE'), 'no frame says so, the list names it, and Binance goes on')
  t.ok(live.includes('TRX'))
  t.equal((await read.coins()).get('DOGE')?.order, 1, 'it is still tracked')
  await pass(10)
  t.ok((await read.live()).includes('TRX'))
  remember()
  await pass(2.5)
  t.ok((await read.live()).includes('DOGE'), 'its SNAPSHOT comes again')
})
