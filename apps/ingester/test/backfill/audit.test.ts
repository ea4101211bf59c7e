import { passUntil } from '@kimchi/testkit'
import t from 'tap'
import { BTC, openBench, openExchanges, YESTERDAY } from '../support/backfill-bench.ts'

const exchanges = await openExchanges(t)

t.test('the audit of what is stored notices what is wrong', async t => {
  const { start, check, clock, isWhole } = await openBench(t, exchanges)
  const { stop } = start([BTC])
  await passUntil(clock, 'all is stored', isWhole([BTC]), 25)
  await stop()
  const raw = exchanges.sharedRedis.client()
  const audit = () => check([BTC], 60)
  const [key = ''] = (await raw.keys('{kp}:samples:BTC:*')).sort()
  const [member = ''] = (await raw.callBuffer('ZRANGE', [key, 5, 5])) as Buffer[]
  const minute = Number(await raw.zscore(key, member))
  t.equal(minute, YESTERDAY + 5)
  t.match(await audit(), { lost: 0, doubled: 0, wrong: 0 })

  await raw.zrem(key, member)
  t.match(await audit(), { lost: 1, doubled: 1 }, 'a sample that is gone, while its day still counts it')
  const wrong = Buffer.from(member)
  wrong.writeDoubleBE(1.5, wrong.indexOf(0xcb) + 1)
  await raw.zadd(key, minute, wrong)
  t.match(await audit(), { lost: 0, doubled: 0, wrong: 1 }, 'a sample that no exchange sent')
  await raw.zadd(key, minute, member)
  t.match(await audit(), { doubled: 1 }, 'a minute twice')
  await raw.zrem(key, wrong)
  t.match(await audit(), { lost: 0, doubled: 0 })
  const [date = '', row = ''] = Object.entries(await raw.hgetall('{kp}:daily:BTC'))[0] ?? []
  await raw.hset('{kp}:daily:BTC', date, row.replace(/"sum":(-?\d+)/, '"sum":1'))
  t.match(await audit(), { wrong: 1 }, 'a day that is not the fold of its samples')
})
