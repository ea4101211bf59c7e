import { stat, truncate } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { HOUR_MS } from '@kimchi/core'
import { opsPortOf } from '../../src/apps.ts'
import { fromMidnight } from '../../src/testbed.ts'
import { isWhole, newestAppendOnlyFile, openFaultBed } from '../support/fault-bed.ts'
import { inRounds } from '../support/rounds.ts'

const acrossMidnight = () => ({ startAt: fromMidnight(-10) })

// docs/faults.md, 1
inRounds(
  'an ingester killed at random points leaves no partial and no double minute',
  { short: 4, per200: 200 },
  async (t, rounds, random) => {
    const { bed, raw } = await openFaultBed(t, acrossMidnight())
    for (let round = 0; round < rounds; round++) {
      const ingester = bed.start('a')
      // On a busy machine half of the time would pass before it has begun.
      await opsPortOf(ingester)
      await delay(random() * 2_200)
      await ingester.end('SIGKILL')
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
  },
)

// docs/faults.md, 6 and 8
inRounds(
  'Redis is killed or frozen at random points',
  { short: 0, per200: 40 },
  async (t, rounds, random) => {
    const { bed, redis } = await openFaultBed(t, acrossMidnight())
    bed.start('a')
    for (let round = 0; round < rounds; round++) {
      await delay(500 + random() * 3_000)
      if (random() < 0.5) await redis.killFor(random() * 2_000)
      else await redis.freezeFor(500 + random() * 4_000)
    }
    isWhole(t, await bed.settle())
  },
)

// docs/faults.md, 5. No process remembers what was cut off, so candles fill it; then Redis reads its file once more.
inRounds('the append-only file is cut', { short: 0, per200: 10 }, async (t, rounds, random) => {
  const { bed, redis } = await openFaultBed(t, acrossMidnight())
  bed.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(2_000 + random() * 2_000)
    await bed.killAll()
    const end = bed.minute()
    await redis.stop()
    const file = await newestAppendOnlyFile(redis.dir)
    await truncate(file, Math.floor((await stat(file)).size * (0.5 + random() / 2)))
    await redis.restart()
    bed.start('a')
    await bed.untilFilled(end)
    await redis.stop()
    await redis.restart()
  }
  isWhole(t, await bed.settle())
})

// docs/faults.md, 13
inRounds('nobody is there for three hours', { short: 0, per200: 4 }, async (t, rounds, random) => {
  const { bed } = await openFaultBed(t, acrossMidnight())
  for (let round = 0; round < rounds; round++) {
    bed.start('a')
    await delay(3_000 + random() * 6_000)
    await bed.killAll()
    bed.clock.jump(3 * HOUR_MS)
  }
  isWhole(t, await bed.settle())
})
