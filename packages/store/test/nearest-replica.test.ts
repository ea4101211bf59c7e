import { eventually, type RawRedis, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { SampleReader } from '../src/reader.ts'
import { BTC, connected, listenTo, sampleOf, todayMinutes, writerOn } from './fixtures.ts'

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
  const writing = await connected(t, primary)
  const writer = writerOn(writing)
  await writer.track([BTC])
  const { today } = await todayMinutes(writing)
  const reader = new SampleReader({ redis: await connected(t, near) })
  const heard = await listenTo(reader)
  await writer.write({ minute: today, samples: [sampleOf('BTC', today)] })
  await eventually('it hears the minute', () => heard.includes(today))
  // The replica may lack the functions still.
  const newest = () => reader.readBoard().then(({ rows }) => rows[0]?.minute)
  await eventually('it reads the minute', async () => (await newest().catch(() => 0)) === today)
  t.equal(await readsOf(primary.client()), 0, 'nothing is asked of the primary')
  t.equal(await readsOf(far.client()), 0)
  await primary.kill()
  t.equal((await reader.readBoard()).rows[0]?.minute, today, 'reads go on')
})
