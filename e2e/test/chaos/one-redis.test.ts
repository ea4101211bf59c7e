import { stat, truncate } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { HOUR_MS } from '@kimchi/core'
import { opsPortOf } from '../../src/apps.ts'
import { fromMidnight, openRedisBed } from '../../src/testbed.ts'
import { isWhole, newestAppendOnlyFile } from '../support/observations.ts'
import { inRounds } from '../support/rounds.ts'

const acrossMidnight = () => ({ startAt: fromMidnight(-10) })

// docs/faults.md, 1
inRounds(
  'an ingester killed at random points leaves no partial and no double minute',
  { short: 0, per200: 200 },
  async (t, rounds, random) => {
    const { bed } = await openRedisBed(t, acrossMidnight())
    for (let round = 0; round < rounds; round++) {
      const ingester = bed.start('a')
      // On a busy machine half of the time would pass before it has begun.
      await opsPortOf(ingester)
      await delay(random() * 2_200)
      await ingester.end('SIGKILL')
    }
    isWhole(t, await bed.settle())
  },
)

// docs/faults.md, 6 and 8
inRounds(
  'Redis is killed or frozen at random points',
  { short: 0, per200: 40 },
  async (t, rounds, random) => {
    const { bed, redis } = await openRedisBed(t, acrossMidnight())
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
  const { bed, redis } = await openRedisBed(t, acrossMidnight())
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
  const { bed } = await openRedisBed(t, acrossMidnight())
  for (let round = 0; round < rounds; round++) {
    bed.start('a')
    await delay(3_000 + random() * 6_000)
    await bed.killAll()
    bed.clock.jump(3 * HOUR_MS)
  }
  isWhole(t, await bed.settle())
})
