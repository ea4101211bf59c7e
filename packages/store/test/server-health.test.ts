import t from 'tap'
import { measureLatency, readServerHealth } from '../src/redis/server-health.ts'
import { connected, openStore } from './fixtures.ts'

t.test('says how the server is doing, and nothing when it does not answer', async t => {
  const { redis, raw, writer } = await openStore(t, { appendonly: true })
  await writer.track([])
  const connection = await connected(t, redis, { commandTimeoutMs: 300 })
  t.match(await readServerHealth(connection), {
    latencyMs: Number,
    memoryUsed: Number,
    memoryMax: undefined,
    persists: true,
  })
  await raw.call('CONFIG', 'SET', 'maxmemory', '200mb')
  t.equal((await readServerHealth(connection))?.memoryMax, 200 * 2 ** 20)
  t.ok(Number(await measureLatency(connection)) > 0)
  redis.pause()
  t.equal(await readServerHealth(connection), undefined)
  redis.resume()
  await redis.stop()
  t.equal(await measureLatency(connection), undefined)
})
