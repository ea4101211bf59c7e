import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { opsPortOf } from '../src/apps.ts'
import { seededRandom } from '../src/seeded-random.ts'
import { openRedisBed } from '../src/testbed.ts'
import { isWhole } from './support/observations.ts'

const KILLS = 4

// docs/faults.md, 1 and 13
t.test('of two ingesters either is killed at any time', async t => {
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const { bed, raw } = await openRedisBed(t)
  const zones = { a: { TZ: 'Asia/Seoul' }, b: { TZ: 'America/St_Johns' } }
  const running = { a: bed.start('a', zones.a), b: bed.start('b', zones.b) }
  for (let round = 0; round < KILLS; round++) {
    const id = random() < 0.5 ? 'a' : 'b'
    // On a busy machine half of the time would pass before it has begun.
    await opsPortOf(running[id])
    await delay(random() * 2_200)
    await running[id].end('SIGKILL')
    running[id] = bed.start(id, zones[id])
  }
  const verdict = await bed.settle()
  isWhole(t, verdict)
  // The newest minutes are left to the live feeds, and midnight may pass meanwhile.
  t.ok(verdict.candle > 4 * 1_400, 'nearly a whole day at least')

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
