import { setTimeout as delay } from 'node:timers/promises'
import { opsPortOf } from '../../src/apps.ts'
import { isWhole, openFaultBed } from '../support/fault-bed.ts'
import { chaosBed, inRounds } from '../support/rounds.ts'

// docs/faults.md, 1
inRounds(
  'of two ingesters either is killed at any time',
  { short: 4, per200: 100 },
  async (t, rounds, random) => {
    const { bed } = await openFaultBed(t, chaosBed())
    const zones = { a: { TZ: 'Asia/Seoul' }, b: { TZ: 'America/St_Johns' } }
    const running = { a: bed.start('a', zones.a), b: bed.start('b', zones.b) }
    for (let round = 0; round < rounds; round++) {
      const id = random() < 0.5 ? 'a' : 'b'
      // On a busy machine half of the time would pass before it has begun.
      await opsPortOf(running[id])
      await delay(random() * 2_200)
      await running[id].end('SIGKILL')
      running[id] = bed.start(id, zones[id])
    }
    isWhole(t, await bed.settle())
  },
)
