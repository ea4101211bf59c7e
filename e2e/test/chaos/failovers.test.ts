import { setTimeout as delay } from 'node:timers/promises'
import { eventually, type RawRedis, startCluster, startSentinels } from '@kimchi/testkit'
import { openTestbed } from '../../src/testbed.ts'
import { hasAll, isWhole, nextMinute, untilStored } from '../support/observations.ts'
import { chaosBed, inRounds } from '../support/rounds.ts'

// docs/faults.md, 10
for (const [group, start, short] of [
  ['a Cluster of six', startCluster, 1],
  ['three Sentinels', startSentinels, 0],
] as const) {
  inRounds(
    `with ${group}, writing goes on after a primary was killed`,
    { short, per200: 20 },
    async (t, rounds, random) => {
      const group = await start(t)
      const bed = await openTestbed(t, group, chaosBed())
      const ingester = bed.start('a')
      await nextMinute(ingester, hasAll)
      for (let round = 0; round < rounds; round++) {
        await delay(random() * 3_000)
        await group.failOver(minuteConfirmed)
        const { minute } = await nextMinute(ingester, hasAll)
        t.match(await untilStored(await group.primary(), 'BTC', minute), [/ live$/])
        await group.heal()
      }
      isWhole(t, await bed.settle())
    },
  )
}

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
