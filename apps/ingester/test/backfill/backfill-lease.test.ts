import { systemClock } from '@kimchi/runtime'
import { openRedis } from '@kimchi/store'
import t from 'tap'
import { BackfillLease } from '../../src/backfill/backfill-lease.ts'
import { BTC, silent } from '../support/backfill-bench.ts'

t.test('an ingester that is not fit and has claimed no lease asks nothing of Redis', async t => {
  const redis = openRedis('redis://127.0.0.1:1')
  t.teardown(() => redis.close())
  const lease = new BackfillLease(redis, 'a', { clock: systemClock, log: silent })
  t.equal(await lease.hold([BTC], false), false)
  await t.rejects(lease.hold([BTC], true), 'it would not get an answer')
})
