import { eventually, type RawRedis, startCluster } from '@kimchi/testkit'
import t from 'tap'
import { loadLibrary } from '../src/library.ts'
import { readServerHealth } from '../src/redis/server-health.ts'
import { connected, openStore } from './fixtures.ts'

t.test('says how the server is doing, and nothing when it does not answer', async t => {
  const { redis, raw, writer } = await openStore(t, { appendonly: true })
  await writer.track([])
  const connection = await connected(t, redis, { commandTimeoutMs: 300 })
  // On a busy machine a first answer may be late.
  const health = () => eventually('an answer', () => readServerHealth(connection))
  t.match(await health(), { latencyMs: Number, memoryUsed: Number, memoryMax: undefined })
  await raw.call('CONFIG', 'SET', 'maxmemory', '200mb')
  t.equal((await health()).memoryMax, 200 * 2 ** 20)
  redis.pause()
  t.equal(await readServerHealth(connection), undefined)
})

t.test('on a Cluster it is the health of the primary that holds our keys', async t => {
  const group = await startCluster(t)
  const owner = await group.primary()
  const raws = group.nodes.map(node => node.client()).filter(raw => raw.options.port !== owner.options.port)
  // The others refuse what is not theirs.
  const fill = (raw: RawRedis, index: number) => raw.set(`other-${index}`, 'x'.repeat(1e6)).catch(() => '')
  for (const raw of raws) for (let index = 0; index < 20; index++) await fill(raw, index)
  await owner.call('CONFIG', 'SET', 'maxmemory', '200mb')
  const connection = await connected(t, { ...group.nodes[0], url: group.url } as (typeof group.nodes)[0] &
    object)
  t.strictSame(await loadLibrary(connection), [])
  t.match(await readServerHealth(connection), { memoryMax: 200 * 2 ** 20 })
})
