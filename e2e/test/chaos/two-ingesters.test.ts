import { setTimeout as delay } from 'node:timers/promises'
import { isWhole, openFaultBed } from '../support/fault-bed.ts'
import { chaosBed, inRounds } from '../support/rounds.ts'

// docs/faults.md, 1
inRounds(
  'of two ingesters either is killed at any time',
  { short: 8, per200: 100 },
  async (t, rounds, random) => {
    const { bed } = await openFaultBed(t, chaosBed())
    const zones = { a: { TZ: 'Asia/Seoul' }, b: { TZ: 'America/St_Johns' } }
    const running = { a: bed.start('a', zones.a), b: bed.start('b', zones.b) }
    for (let round = 0; round < rounds; round++) {
      await delay(400 + random() * 2_200)
      const id = random() < 0.5 ? 'a' : 'b'
      await running[id].end('SIGKILL')
      running[id] = bed.start(id, zones[id])
    }
    isWhole(t, await bed.settle())
  },
)
