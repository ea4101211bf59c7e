import { setTimeout as delay } from 'node:timers/promises'
import { openSteppedClock, lacksFaketime as skip } from '../../src/faketime.ts'
import { openRedisBed } from '../../src/testbed.ts'
import { hasAll, isWhole, nextMinute } from '../support/observations.ts'
import { chaosBed, inRounds } from '../support/rounds.ts'

const STEPS_MS = [-90_000, 3_600_000, 90_000]

// docs/faults.md, 23
inRounds(
  'a wall clock stepped by −90 s, +1 h or +90 s stores no wrong minute',
  { short: 3, per200: 10, skip },
  async (t, rounds, random) => {
    const { bed, redis } = await openRedisBed(t, chaosBed())
    const stepped = await openSteppedClock(redis.dir)
    const ingester = bed.start('a', { ...stepped.env, TZ: 'Pacific/Kiritimati' })
    await nextMinute(ingester, hasAll)
    for (let round = 0; round < rounds; round++) {
      await stepped.step((STEPS_MS[round % STEPS_MS.length] ?? 0) / bed.clock.factor)
      await nextMinute(ingester, ({ gaps }) => gaps === 4)
      await delay(random() * 2_000)
      await stepped.step(0)
      await nextMinute(ingester, hasAll)
      await delay(random() * 2_000)
    }
    isWhole(t, await bed.settle())
  },
)
