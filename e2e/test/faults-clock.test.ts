import t from 'tap'
import { openSteppedClock, lacksFaketime as skip } from '../src/faketime.ts'
import { hasAll, isWhole, nextMinute, openFaultBed } from './support/fault-bed.ts'

// docs/faults.md, 23
t.test('a wall clock stepped by −90 s and +1 h stores no wrong minute', { skip }, async t => {
  const { bed, redis } = await openFaultBed(t)
  const stepped = await openSteppedClock(redis.dir)
  const ingester = bed.start('a', { ...stepped.env, TZ: 'Pacific/Kiritimati' })
  await nextMinute(ingester, hasAll)
  for (const stepMs of [-90_000, 3_600_000]) {
    await stepped.step(stepMs / bed.clock.factor)
    await nextMinute(ingester, ({ gaps }) => gaps === 4)
    await stepped.step(0)
    await nextMinute(ingester, hasAll)
  }
  isWhole(t, await bed.settle())
})
