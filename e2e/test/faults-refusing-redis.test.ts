import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { isWhole, nextMinute, openFaultBed, readable, readiness } from './support/fault-bed.ts'

const WHOLE = ({ samples }: { samples: number }) => samples === 4

t.test('LOADING and a full disk are waited out, and /ready says which', async t => {
  const dumps = 'a-folder-cannot-be-a-dump'
  const { bed, redis, raw } = await openFaultBed(t, {
    redis: { args: ['--save', '3600 1000000', '--dbfilename', dumps, '--key-load-delay', '500'] },
  })
  await mkdir(join(redis.dir, dumps))
  const ingester = bed.start('a')
  await nextMinute(ingester, WHOLE)
  const reason = (pattern: RegExp) =>
    eventually(
      String(pattern),
      async () => {
        const { status, text } = await readiness(ingester)
        return status === 503 && pattern.test(text) ? text : undefined
      },
      20_000,
    )
  const written = async (minute: number) =>
    t.match(
      await eventually(
        'written',
        async () => {
          const lines = await readable(raw, 'BTC', minute, minute + 1).catch(() => [])
          return lines.length > 0 ? lines : undefined
        },
        20_000,
      ),
      [/ live$/],
    )

  await nextMinute(ingester, WHOLE)
  await raw.bgsave()
  const { minute } = await nextMinute(ingester, WHOLE)
  t.match(await reason(/MISCONF/), /minutes wait to be written/)
  await raw.config('SET', 'stop-writes-on-bgsave-error', 'no')
  await written(minute)

  await redis.kill()
  const restarted = redis.restart()
  const next = await nextMinute(ingester, WHOLE)
  t.match(await reason(/loading its data/), /minutes wait to be written/)
  await restarted
  await written(next.minute)
  isWhole(t, await bed.settle())
})
