import { dateOf } from '@kimchi/core'
import t from 'tap'
import { YESTERDAY } from '../support/backfill-bench.ts'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET_COINS } from '../support/market.ts'

const COINS = MARKET_COINS.filter(({ id }) => ['BTC', 'ETH', 'USDT'].includes(id))

// docs/faults.md, 65
t.test('a coin with a damaged key waits alone and is named in /ready until the key is mended', async t => {
  const { raw, read, pass, passUntil, start } = await openLockstep(t, { coins: COINS })
  const { ops } = await start({ env: { COINS: 'BTC,ETH' } })
  const ready = async () => String((await ops('/ready')).body)
  await passUntil('both are live', async () => (await read.live()).length === 2)
  await raw.rename('{kp}:daily:ETH', 'aside')
  await raw.set('{kp}:daily:ETH', 'not ours')
  const before = await read.minutesOf('BTC')
  await passUntil('it is named', async () => /ETH is not stored: .* wrong type/.test(await ready()))
  t.notMatch(await ready(), /BTC|wait to be written/)
  await pass(2)
  t.ok((await read.minutesOf('BTC')).length >= before.length + 2)
  await raw.rename('aside', '{kp}:daily:ETH')
  await passUntil('it is stored again', async () => !(await ready()).includes('ETH'))
})

// docs/faults.md, 63
t.test('the lost row of a closed day is back within ten minutes', async t => {
  const { raw, read, pass, passUntil, start } = await openLockstep(t, { coins: COINS, at: 1_436 })
  await start({ env: { COINS: 'BTC' } })
  await passUntil('a minute', async () => (await read.live()).length === 1)
  await pass(6)
  const date = dateOf(YESTERDAY)
  const row = await raw.hget('{kp}:daily:BTC', date)
  t.match(row, /"samples"/)
  await raw.del('{kp}:daily:BTC')
  await pass(10)
  t.equal(await raw.hget('{kp}:daily:BTC', date), row)
})
