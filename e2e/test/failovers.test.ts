import { eventually, type RawRedis, startCluster } from '@kimchi/testkit'
import t from 'tap'
import { openTestbed } from '../src/testbed.ts'
import { hasAll, isWhole, nextMinute, untilStored } from './support/observations.ts'

// docs/faults.md, 10
t.test('with a Cluster of six, writing goes on after a primary was killed', async t => {
  const group = await startCluster(t)
  const bed = await openTestbed(t, group)
  const ingester = bed.start('a')
  await nextMinute(ingester, hasAll)
  await group.failOver(minuteConfirmed)
  const { minute } = await nextMinute(ingester, hasAll)
  t.match(await untilStored(await group.primary(), 'BTC', minute), [/ live$/])
  await group.heal()
  isWhole(t, await bed.settle())
})

/** Resolves when the server that will die has a minute, confirmed, that no replica has. */
async function minuteConfirmed(primary: RawRedis): Promise<void> {
  let before: number | undefined
  await eventually('a minute is confirmed', async () => {
    // On a busy machine an answer may be late.
    const rows = await primary.hvals('{kp}:live').catch(() => [])
    if (rows.length === 0) return false
    const newest = Math.max(...rows.map(row => Date.parse(`${JSON.parse(row).snapshot_at}Z`)))
    before ??= newest
    return newest > before
  })
}
