import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET_COINS } from '../support/market.ts'

// docs/faults.md, 109
t.test('what candles had filled and a primary has lost is back within 5 s', async t => {
  const coins = MARKET_COINS.filter(({ id }) => ['BTC', 'USDT'].includes(id))
  const { clock, simulator, raw, read, pass, passUntil, start, minute, log } = await openLockstep(t, {
    coins,
  })
  await start({ env: { COINS: 'BTC', BACKFILL_DAYS: '1' } })
  await passUntil('the days before are filled', async () => (await read.status()).open_minutes === '0')
  await passUntil('a live minute is confirmed', async () =>
    Boolean((await read.status()).last_written_minute),
  )
  simulator.faults.set({ kind: 'silence', exchange: 'upbit' })
  await pass(3)
  const newest = async () => (await read.minutesOf('BTC')).at(-1)
  const filled = minute()
  await passUntil('the newest minute is filled', async () => (await newest()) === filled)
  for (const key of await raw.keys('{kp}:samples:BTC:*')) await raw.zremrangebyscore(key, filled, filled)
  await raw.del('{kp}:daily:BTC')
  t.ok(((await newest()) ?? 0) < filled, 'it is lost')
  const connections = async () =>
    String(await raw.client('LIST'))
      .split('\n')
      .filter(line => line.includes('name=kimchi-ingester'))
  for (const line of await connections()) await raw.client('KILL', 'ID', Number(/^id=(\d+)/.exec(line)?.[1]))
  await eventually('Redis is connected again', () =>
    log.lines.some(({ fields }) => fields.reason === 'Redis is connected again'),
  )
  const reconnectedAt = clock.now()
  await eventually('it is filled again', async () => {
    if ((await newest()) === filled) return true
    await clock.advance(50)
    return false
  })
  t.ok(clock.now() - reconnectedAt <= 5_000, `after ${clock.now() - reconnectedAt} ms`)
})
