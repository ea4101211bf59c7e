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
    await redis.untilReady(5_000)
    const ours = new Lease(redis, 'backfill', 'a', 60_000)
    const theirs = new Lease(redis, 'backfill', 'b', 60_000)

    t.equal(await ours.claim(), true)
    t.equal(await theirs.claim(), false)
    t.equal(await ours.claim(), true, 'claiming again renews it')
    await theirs.close()
    t.equal(await theirs.claim(), false, 'another process cannot release it')
    await ours.close()
    t.equal(await theirs.claim(), true)

    await redis.call('PEXPIRE', '{kp}:lease:backfill', 0)
    t.equal(await ours.claim(), true, 'an expired lease is free')
    t.ok(Number(await redis.call('PTTL', '{kp}:lease:backfill')) > 50_000)
  },
)

t.test('two processes with the id 1 on hosts of one name do not both hold a lease', async t => {
  const server = await startRedis(t)
  const redis = openRedis(server.url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const [ours, theirs] = [0.1, 0.7].map(random => holderId('host', 1, () => random))
  t.match([ours, theirs], [/^host:1:3[0-9a-z]{3}$/, /^host:1:p[0-9a-z]{3}$/])
  const claim = (id = '') => new Lease(redis, 'backfill', id, 60_000).claim()
  t.strictSame([await claim(ours), await claim(theirs)], [true, false])
})
