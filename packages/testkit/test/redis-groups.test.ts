import t from 'tap'
import { startCluster, startSentinels } from '../src/redis-groups.ts'

for (const [name, start] of [
  ['behind Sentinel', startSentinels],
  ['on a Cluster', startCluster],
] as const) {
  t.test(`${name} a failover loses what only the dying server knew, and the group heals`, async t => {
    const group = await start(t)
    const before = await group.primary()
    await before.set('{kp}:kept', '1')
    await before.wait(1, 5_000)
    await group.failOver(primary => primary.set('{kp}:lost', '1'))
    const after = await group.primary()
    t.not(after, before)
    t.strictSame(await after.mget('{kp}:kept', '{kp}:lost'), ['1', null])
    await group.heal()
    t.equal(await after.wait(1, 5_000), 1)
  })
}
