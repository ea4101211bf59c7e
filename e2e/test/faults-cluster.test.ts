import { startCluster } from '@kimchi/testkit'
import t from 'tap'
import { openTestbed } from '../src/testbed.ts'
import { hasAll, isWhole, nextMinute } from './support/fault-bed.ts'

// docs/faults.md, 10
t.test('on a Cluster of six, writing goes on after a primary was killed', async t => {
  const group = await startCluster(t)
  const bed = await openTestbed(t, group)
  const ingester = bed.start('a')
  await nextMinute(ingester, hasAll)
  await group.failOver()
  await nextMinute(ingester, hasAll)
  isWhole(t, await bed.settle())
})
