import t from 'tap'
import { startCluster } from '../src/redis-groups.ts'
import { openWorld } from '../src/world.ts'
import { isWhole, nextMinute } from './support/fault-world.ts'

t.test('fault 10: on a Cluster of six, writing goes on after a master was killed', async t => {
  const group = await startCluster(t)
  const world = await openWorld(t, { redisUrl: group.url, raw: group.master })
  const ingester = world.start('a')
  await ingester.line(line => line.includes('"percent":100'))
  await group.failOver()
  await nextMinute(ingester, ({ samples }) => samples === 4)
  isWhole(t, await world.settle())
})
