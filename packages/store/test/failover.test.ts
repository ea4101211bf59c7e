import { foldDays } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { createMemoryLog, eventually } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { MinuteQueue } from '../src/minute-queue.ts'
import { SampleReader } from '../src/reader.ts'
import { openRedis } from '../src/redis/connect.ts'
import { BTC, listenTo, sampleOf, todayMinutes, writerOn } from './fixtures.ts'
import { type RedisGroup, startCluster, startSentinels } from './redis-failover.ts'

/** What an ingester writes by, on a group of servers. */
async function openWay(t: Test, group: RedisGroup) {
  const redis = openRedis(group.url, { commandTimeoutMs: 1_000 })
  t.teardown(() => redis.close())
  t.ok(await redis.untilReady(60_000))
  const log = createMemoryLog()
  const writer = writerOn(redis, { log })
  const onFatal = (error: Error) => void t.fail(error.message)
  const queue = new MinuteQueue({ writer, clock: systemClock, random: () => 0.5, log, onFatal })
  t.teardown(() => queue.close(0))
  redis.onChange(problem => problem ?? queue.sendAgain('Redis is connected again'))
  await writer.track([BTC])
  const { today } = await todayMinutes(redis)
  const write = async (at: number) => {
    queue.enqueue({ minute: today + at, samples: [sampleOf('BTC', today + at)] })
    await eventually(`minute ${at} is confirmed`, () => queue.status().waiting === 0, 60_000)
  }
  const days = async () => (await new SampleReader({ redis }).readDays('BTC')).entries
  const daysOf = (minutes: readonly number[]) => foldDays(minutes.map(at => sampleOf('BTC', today + at)))
  return { redis, writer, queue, today, write, days, daysOf }
}

for (const [name, start] of [
  ['behind Sentinel', startSentinels],
  ['on a Cluster', startCluster],
] as const) {
  // docs/faults.md, 44
  t.test(`${name} a minute that only the dead primary had confirmed is sent again`, async t => {
    const group = await start(t)
    const { redis, writer, queue, today, write, days, daysOf } = await openWay(t, group)
    const reader = new SampleReader({ redis })
    const ofBackfill = { minute: today + 1, samples: [sampleOf('ETH', today + 1)] }
    const heard = await listenTo(reader)
    await write(0)
    await eventually('it is heard of', () => heard.includes(today))
    const before = await group.primary()
    await before.wait(1, 5_000)
    let diedAt = 0
    await group.failOver(async () => {
      await write(1)
      await writer.write(ofBackfill)
      diedAt = performance.now()
    })
    await write(2)
    const seconds = (performance.now() - diedAt) / 1_000
    t.comment(`written ${seconds.toFixed(1)} s after the primary's death`)
    t.ok(seconds < 15)
    t.strictSame(await days(), daysOf([0, 1, 2]))
    t.equal((await reader.readSamples('BTC', today, today + 3)).entries.length, 3)
    // A reply that comes after the command's patience has its minute counted as a duplicate.
    const { stored, duplicates, resent, dropped } = queue.status().totals
    t.match(
      { taken: stored + duplicates, isSentAgain: resent > 0, dropped },
      { taken: 3, isSentAgain: true, dropped: 0 },
    )
    t.strictSame(
      await reader.readOpenMinutes('ETH', today + 1, today + 2),
      [{ start: today + 1, end: today + 2 }],
      'what backfill wrote is missing, and it may write it again',
    )
    t.match(await writer.write(ofBackfill), { stored: 1, refused: [] })
  })
}

// docs/faults.md, 10
t.test('behind Sentinel, a minute is written within 15 s of the moment the primary froze', async t => {
  const group = await startSentinels(t)
  const { write, days, daysOf } = await openWay(t, group)
  await write(0)
  const port = (await group.primary()).options.port
  const primary = group.nodes.find(node => node.port === port)
  const frozenAt = performance.now()
  primary?.pause()
  await write(1)
  const seconds = (performance.now() - frozenAt) / 1_000
  t.comment(`written ${seconds.toFixed(1)} s after the primary froze`)
  t.ok(seconds < 15)
  t.strictSame(await days(), daysOf([0, 1]))
  primary?.resume()
})
