import { createMemoryLog, type TestRedis } from '@kimchi/testkit'
import t from 'tap'
import { openRedis } from '../src/redis/connect.ts'
import { readServerHealth } from '../src/redis/server-health.ts'
import { BTC, sampleOf, todayMinutes, writerOn } from './fixtures.ts'
import { startCluster } from './redis-failover.ts'

t.test('on a Cluster a frozen shard that holds none of our keys stops nobody', async t => {
  const group = await startCluster(t)
  for (const node of group.nodes) await node.client().config('SET', 'cluster-require-full-coverage', 'no')
  const redis = openRedis(group.url, { commandTimeoutMs: 1_000 })
  t.teardown(() => redis.close())
  t.ok(await redis.untilReady(60_000))
  const { port } = (await group.primary()).options
  const other = await findOther(group.nodes, port ?? 0)
  const replicas = await group.replicasOf(other.port)
  // TIME names no key: it may go to any primary, so it is asked while all of them answer.
  const { now } = await todayMinutes(redis)
  const frozen = [other, ...replicas]
  for (const node of frozen) node.pause()
  const log = createMemoryLog()
  const writer = writerOn(redis, { log })
  await writer.verify()
  t.match(log.lines, [
    {
      level: 'warn',
      message: 'a primary could not load the function library',
      fields: { reason: /timed out/ },
    },
    { level: 'info', message: 'function library loaded' },
  ])
  await writer.track([BTC])
  t.match(await writer.write({ minute: now, samples: [sampleOf('BTC', now)] }), { stored: 1 })
  t.match(await readServerHealth(redis), { latencyMs: Number, memoryUsed: Number })
  for (const node of frozen) node.resume()
})

/** A primary of a shard that is not the one at `port`. */
async function findOther(nodes: readonly TestRedis[], port: number): Promise<TestRedis> {
  for (const node of nodes) {
    if (node.port !== port && (await node.client().role())[0] === 'master') return node
  }
  throw new Error('no other primary')
}
