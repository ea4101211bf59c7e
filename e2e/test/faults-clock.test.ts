import t from 'tap'
import { openSteppedClock } from '../src/faketime.ts'
import { isWhole, nextMinute, openFaultWorld } from './support/fault-world.ts'

t.test('fault 23: a wall clock stepped by −90 s and +1 h stores no wrong minute', async t => {
  const { world, redis } = await openFaultWorld(t)
  const stepped = await openSteppedClock(redis.dir)
  if (stepped === undefined) return t.comment('LEFT OUT: libfaketime is not installed')
  const ingester = world.start('a', { ...stepped.env, TZ: 'Pacific/Kiritimati' })
  await nextMinute(ingester, ({ samples }) => samples === 4)
  for (const worldMs of [-90_000, 3_600_000]) {
    await stepped.step(worldMs / world.clock.factor)
    await nextMinute(ingester, ({ gaps }) => gaps === 4)
    await stepped.step(0)
    await nextMinute(ingester, ({ samples }) => samples === 4)
  }
  isWhole(t, await world.settle())
})
