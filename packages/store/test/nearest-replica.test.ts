import { eventually, type RawRedis, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { SampleReader } from '../src/reader.ts'
import { openRedis } from '../src/redis/connect.ts'
import { BTC, sampleOf, todayMinutes, writerOn } from './fixtures.ts'

/** A writer on one URL, and a reader that listens on another. */
async function openBoth(t: Test, writingUrl: string, readingUrl: string) {
  const connect = async (url: string) => {
    const connection = openRedis(url, { commandTimeoutMs: 1_000 })
    t.teardown(() => connection.close())
    t.ok(await connection.untilReady(60_000), connection.problem() ?? url)
    return connection
  }
  const writing = await connect(writingUrl)
  const writer = writerOn(writing)
  await writer.track([BTC])
  const { today } = await todayMinutes(writing)
  const reading = await connect(readingUrl)
  const reader = new SampleReader({ redis: reading })
  const heard: number[] = []
  let isListening = false
  reader.subscribeMinutes(
    minute => heard.push(minute),
    problem => {
      isListening = problem === undefined
    },
  )
  const hears = async (at: number) => {
    await eventually('it listens', () => isListening)
    await writer.write({ minute: today + at, samples: [sampleOf('BTC', today + at)] })
    await eventually('it hears the minute', () => heard.includes(today + at))
    // The replica that is read may be behind the one that published, and lack the functions still.
    const newest = () => reader.readBoard().then(({ rows }) => rows[0]?.minute)
    await eventually('it reads the minute', async () => (await newest().catch(() => 0)) === today + at)
  }
  return { reader, hears, today }
}

/** How many reads by function a server has answered. */
async function readsOf(raw: RawRedis): Promise<number> {
  return Number(/cmdstat_fcall_ro:calls=(\d+)/.exec(await raw.info('commandstats'))?.[1] ?? 0)
}

const NO_DELAY = ['--repl-diskless-sync-delay', '0']

t.test('the URL of one of two replicas reads from that one alone, also when the primary is dead', async t => {
  const primary = await startRedis(t, { args: NO_DELAY })
  const args = [...NO_DELAY, '--replicaof', '127.0.0.1', String(primary.port)]
  const near = await startRedis(t, { args })
  const far = await startRedis(t, { args })
  for (const replica of [near, far]) {
    const raw = replica.client()
    await eventually('it follows', async () =>
      (await raw.info('replication')).includes('master_link_status:up'),
    )
  }
  const { reader, hears, today } = await openBoth(t, primary.url, near.url)
  await hears(0)
  t.equal(await readsOf(primary.client()), 0, 'nothing is asked of the primary')
  t.equal(await readsOf(far.client()), 0)
  await primary.kill()
  t.equal((await reader.readBoard()).rows[0]?.minute, today, 'reads go on')
})
