import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { readServerHealth } from '../src/redis/server-health.ts'
import { connected, openStore } from './fixtures.ts'

t.test('says how the server is doing, and nothing when it does not answer', async t => {
  const { redis, raw } = await openStore(t, { appendonly: true, coins: [] })
  const connection = await connected(t, redis, { commandTimeoutMs: 300 })
  // On a busy machine a first answer may be late.
  const health = () => eventually('an answer', () => readServerHealth(connection))
  t.match(await health(), { latencyMs: Number, memoryUsed: Number, memoryMax: undefined })
  await raw.call('CONFIG', 'SET', 'maxmemory', '200mb')
  t.equal((await health()).memoryMax, 200 * 2 ** 20)
  redis.pause()
  t.equal(await readServerHealth(connection), undefined)
})
