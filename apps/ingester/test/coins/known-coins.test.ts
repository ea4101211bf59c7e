import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { lie, MARKET, MARKET_COINS } from '../support/market.ts'

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
  await passUntil('they have left', async () => (await read.live()).length === MARKET.length - 1)
  t.strictSame(await read.live(), ['BTC', 'ADA', 'DOGE', 'LINK', 'SOL', 'TRX', 'XRP'])
  t.match(await raw.hget('{kp}:coins', 'WRONG'), /"order":null/)
})

// docs/faults.md, 46
t.test('two ingesters on one Redis: what one publishes stays, although the other quarantines it', async t => {
  const { read, pass, passUntil, start, wrongMinutes, minute } = await openLockstep(t, {
    coins: [...MARKET_COINS, ...lie('FAR', 1.5)],
  })
  await start({ id: 'c' })
  await passUntil('c has compared it', async () =>
    /^FAR \(quarantined: premium/.test((await read.status('c')).held_back ?? ''),
  )
  t.notOk((await read.coins()).has('FAR'))
  await start({ env: { ALLOW: 'FAR' } })
  await passUntil('the other publishes FAR', async () => (await read.live()).includes('FAR'))
  await passUntil('both know', async () => (await read.status('c')).held_back === '')
  const from = minute() + 1
  await pass(5)
  t.equal((await read.live()).length, MARKET.length + 1)
  t.match(await read.status('c'), { held_back: '', tracked_coins: '9' })
  t.strictSame(await wrongMinutes('BTC', from, minute()), [])
})
