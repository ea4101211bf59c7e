import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { lie, MARKET, MARKET_COINS, NEW } from '../support/market.ts'

t.test('a coin of COINS that no exchange knows ends the ingester, with the reason', async t => {
  const { start } = await openLockstep(t, { coins: MARKET_COINS })
  const { failed } = await start({ env: { COINS: 'BTC,QQQ' } })
  await t.rejects(failed, {
    code: 'KIMCHI_ERR_UNKNOWN_SYMBOL',
    message: /QQQ cannot be tracked: not on Upbit/,
  })
})

t.test('a denied coin leaves Redis, an allowed one enters it at once', async t => {
  const { read, passUntil, start, raw } = await openLockstep(t, {
    coins: [...MARKET_COINS, ...lie('WRONG', 1.5)],
  })
  const one = await start({ env: { ALLOW: 'WRONG' } })
  await passUntil('the first minute', async () => (await read.live()).length === MARKET.length + 1)
  await one.close()
  await start({ id: 'b', env: { DENY: 'WRONG,ETH' } })
  await passUntil('the lists', async () => /WRONG/.test((await read.status('b')).denied ?? ''))
  t.match(await read.status('b'), { denied: 'ETH, WRONG' })
  t.strictSame(await read.live(), ['BTC', 'ADA', 'DOGE', 'LINK', 'SOL', 'TRX', 'XRP'])
  t.match(await raw.hget('{kp}:coins', 'WRONG'), /"order":null/)
})

// docs/faults.md, 46
t.test('two ingesters on one Redis: what one releases stays, although the other quarantines it', async t => {
  const { simulator, read, pass, passUntil, start, wrongMinutes, minute } = await openLockstep(t, {
    coins: MARKET_COINS,
  })
  await start()
  const first = await start({ id: 'b' })
  await passUntil('the first minute', async () => (await read.live()).length === MARKET.length)
  simulator.list(NEW)
  await pass(20)
  await first.close()
  await start({ id: 'c' })
  await passUntil('one releases NEW', async () => (await read.coins()).has('NEW'))
  const releasedAt = minute()
  t.match(await read.status('c'), { quarantined_coins: /^NEW/ })
  // The other ingester has a reason to tell Redis its coins, which are without NEW.
  simulator.delist('KRW-XRP')
  await passUntil('both know', async () => (await read.status('c')).quarantined_coins === '')
  await pass(5)
  t.strictSame(await read.live(), ['BTC', 'ADA', 'DOGE', 'ETH', 'LINK', 'NEW', 'SOL', 'TRX'])
  t.match(
    await read.status('c'),
    { quarantined_coins: '', tracked_coins: '8' },
    'tracked by one is released by the other',
  )
  for (const symbol of ['NEW', 'BTC']) {
    t.strictSame(await wrongMinutes(symbol, releasedAt + 1, minute()), [], symbol)
  }
})
