import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { fromMidnight } from '../src/testbed.ts'
import { isWhole, openFaultBed } from './support/fault-bed.ts'

// docs/faults.md, 1
t.test('an ingester killed at random points leaves no partial and no double minute', async t => {
  const { bed, raw } = await openFaultBed(t, { startAt: fromMidnight(-10) })
  for (let kill = 0; kill < 8; kill++) {
    const ingester = bed.start('a')
    await delay(500 + Math.random() * 2_000)
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
})
