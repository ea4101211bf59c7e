import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { openTestbed } from '../src/testbed.ts'
import { hasAll, isWhole, nextMinute, readiness, untilStored } from './support/observations.ts'

t.test('Redis frozen, refusing, away, loading: one ingester lives through all of it', async t => {
  const dumps = 'a-folder-cannot-be-a-dump'
  const bed = await openTestbed(t, {
    redis: { args: ['--save', '3600 1000000', '--dbfilename', dumps] },
  })
  const { redis, raw } = bed
  await mkdir(join(redis.dir, dumps))
  // Days are of UTC wherever an ingester runs.
  const ingester = bed.start('a', { TZ: 'America/St_Johns' })
  await nextMinute(ingester, hasAll)
  const reason = (pattern: RegExp) =>
    eventually(String(pattern), async () => {
      const { status, text } = await readiness(ingester)
      return status === 503 && pattern.test(text) ? text : undefined
    })
  const ready = () => eventually('ready', async () => (await readiness(ingester)).status === 200 || undefined)

  // docs/faults.md, 8
  await t.test('minute turns go on while Redis is frozen', async t => {
    const from = ingester.lines.length
    redis.pause()
    const first = await nextMinute(ingester, hasAll)
    await nextMinute(ingester, line => hasAll(line) && line.minute > first.minute)
    const reason = await eventually('a reason', async () => {
      const { status, text } = await readiness(ingester)
      return status === 503 ? text : undefined
    })
    // What the client saw last: a command without an answer, or a new connection without one.
    t.match(reason, /wait to be written: .*(timed out|connection|ECONN|closed|is not ready)/i)
    redis.resume()
    await ready()
    await eventually('it says so', () =>
      ingester.lines.slice(from).some(line => line.includes('"writing works again"')),
    )
    t.match(await untilStored(raw, 'BTC', first.minute), [/ live$/])
  })

  // docs/faults.md, 7 and 9
  await t.test('minutes wait for Redis to load or have disk space, and /ready says which', async t => {
    const written = async (minute: number) => t.match(await untilStored(raw, 'BTC', minute), [/ live$/])
    await nextMinute(ingester, hasAll)
    await raw.bgsave()
    const { minute } = await nextMinute(ingester, hasAll)
    await reason(/minutes wait to be written: .*MISCONF/)
    await raw.config('SET', 'stop-writes-on-bgsave-error', 'no')
    await written(minute)

    await redis.kill()
    const next = await nextMinute(ingester, hasAll)
    const loading = reason(/minutes wait to be written: .*loading its data/)
    // Thousands of commands, two milliseconds each: longer than an ingester on a busy machine needs to ask again.
    const restarted = redis.restart(['--key-load-delay', '2000'])
    await loading
    await restarted
    await written(next.minute)
    await ready()
  })

  isWhole(t, await bed.settle())

  await t.test('and the audit notices what is wrong', async t => {
    const key = (await raw.keys('{kp}:samples:BTC:*')).sort().at(-4) ?? ''
    const [member = ''] = (await raw.callBuffer('ZRANGE', [key, 0, 0])) as Buffer[]
    const minute = Number(await raw.zscore(key, member))
    await raw.zrem(key, member)
    t.match(
      await bed.audit(),
      { lost: 1, doubled: 1 },
      'a sample that is gone, while its day still counts it',
    )
    const wrong = Buffer.from(member)
    wrong.writeDoubleBE(1.5, wrong.indexOf(0xcb) + 1)
    await raw.zadd(key, minute, wrong)
    t.match(await bed.audit(), { lost: 0, doubled: 0, wrong: 1 }, 'a sample that no exchange sent')
    await raw.zadd(key, minute, member)
    t.match(await bed.audit(), { doubled: 1 }, 'a minute twice')
    await raw.zrem(key, wrong)
    isWhole(t, await bed.audit())
    const [date = '', row = ''] = Object.entries(await raw.hgetall('{kp}:daily:ETH'))[0] ?? []
    await raw.hset('{kp}:daily:ETH', date, row.replace(/"sum":(-?\d+)/, '"sum":1'))
    t.match(await bed.audit(), { wrong: 1 }, 'a day that is not the fold of its samples')
  })
})
