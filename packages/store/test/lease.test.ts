import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { holderId, Lease } from '../src/lease.ts'
import { openRedis } from '../src/redis/connect.ts'

t.test(
  'a lease has one holder at a time, who renews it by claiming it, and is free after release or expiry',
  async t => {
    const server = await startRedis(t)
    const redis = openRedis(server.url)
    t.teardown(() => redis.close())
    await redis.untilReady(60_000)
    const ours = new Lease(redis, 'a')
    const theirs = new Lease(redis, 'b')

    t.equal(await ours.claim('backfill'), true)
    t.equal(await theirs.claim('backfill'), false)
    t.equal(await ours.claim('backfill'), true, 'claiming again renews it')
    await theirs.free()
    t.equal(await theirs.claim('backfill'), false, 'another process cannot release it')
    await ours.free()
    t.equal(await theirs.claim('backfill'), true)

    await redis.call('PEXPIRE', '{kp}:lease:backfill', 0)
    t.equal(await ours.claim('backfill'), true, 'an expired lease is free')
    t.ok(Number(await redis.call('PTTL', '{kp}:lease:backfill')) > 50_000)
  },
)

t.test('two processes with the id 1 on hosts of one name do not both hold a lease', async t => {
  const server = await startRedis(t)
  const redis = openRedis(server.url)
  t.teardown(() => redis.close())
  await redis.untilReady(60_000)
  const [ours, theirs] = [0.1, 0.7].map(random => holderId('host', 1, () => random))
  t.match([ours, theirs], [/^host:1:3[0-9a-z]{3}$/, /^host:1:p[0-9a-z]{3}$/])
  const claim = (id = '') => new Lease(redis, id).claim('backfill')
  t.strictSame([await claim(ours), await claim(theirs)], [true, false])
})

t.test('a process that has claimed nothing asks nothing of Redis to free it', async t => {
  const redis = openRedis('redis://127.0.0.1:1')
  t.teardown(() => redis.close())
  const lease = new Lease(redis, 'a')
  await lease.free()
  await t.rejects(lease.claim('backfill'), 'it would not get an answer')
})
