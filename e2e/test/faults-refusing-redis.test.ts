import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { hasAll, isWhole, nextMinute, openFaultBed, readiness, untilStored } from './support/fault-bed.ts'

// docs/faults.md, 9
t.test('minutes wait for Redis to load or have disk space, and /ready says which', async t => {
  const dumps = 'a-folder-cannot-be-a-dump'
  const { bed, redis, raw } = await openFaultBed(t, {
    redis: { args: ['--save', '3600 1000000', '--dbfilename', dumps, '--key-load-delay', '2000'] },
  })
  await mkdir(join(redis.dir, dumps))
  const ingester = bed.start('a')
  await nextMinute(ingester, hasAll)
  const reason = (pattern: RegExp) =>
    eventually(String(pattern), async () => {
      const { status, text } = await readiness(ingester)
      return status === 503 && pattern.test(text) ? text : undefined
    })
  const written = async (minute: number) => t.match(await untilStored(raw, 'BTC', minute), [/ live$/])

  await nextMinute(ingester, hasAll)
  await raw.bgsave()
  const { minute } = await nextMinute(ingester, hasAll)
  t.match(await reason(/MISCONF/), /minutes wait to be written/)
  await raw.config('SET', 'stop-writes-on-bgsave-error', 'no')
  await written(minute)

  await redis.kill()
  const restarted = redis.restart()
  // Together: a slow machine's Redis may have loaded before the second could begin.
  const [next, loading] = await Promise.all([nextMinute(ingester, hasAll), reason(/loading its data/)])
  t.match(loading, /minutes wait to be written/)
  await restarted
  await written(next.minute)
  isWhole(t, await bed.settle())
})
