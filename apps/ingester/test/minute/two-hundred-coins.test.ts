import { MINUTE_MS } from '@kimchi/core'
import { syntheticCoins } from '@kimchi/simulator'
import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'

t.test('two hundred coins need one connection to each exchange and one price request a minute', async t => {
  const paths: string[] = []
  const { simulator, opened, read, pass, passUntil, start, clock } = await openLockstep(t, {
    coins: syntheticCoins(200),
    speed: 1,
    onRequest: ({ path }) => paths.push(path),
  })
  const startedAt = clock.now()
  await start()
  await passUntil('all coins are live', async () => (await read.live()).length === 201)
  await pass(3)
  t.equal(simulator.sockets.count('upbit'), 1)
  t.equal(simulator.sockets.count('binance'), 1)
  t.equal(opened.size, 2, 'and there was never another one')
  const asked = (path: string) => paths.filter(asked => asked === path).length
  const minutes = (clock.now() - startedAt) / MINUTE_MS
  t.ok(asked('/api/v3/ticker/price') <= minutes + 2, 'the seed, and the status once a minute')
  t.equal(asked('/v1/ticker'), 0)
  t.ok(asked('/api/v3/exchangeInfo') <= 10, 'lists at start and at each refresh')
  t.equal((await read.live()).length, 201)
})
