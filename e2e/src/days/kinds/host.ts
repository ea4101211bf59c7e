import { type DayIngester, startImport } from '../service.ts'
import type { Kind, Kinds } from './kind.ts'

const absence = (leave: (ingester: DayIngester) => void): Kind => ({
  minutes: [0.02, 30],
  begin: (_parts, pick) => {
    const ingester = pick.ingester()
    if (!ingester.isRunning()) return undefined
    leave(ingester)
    return () => ingester.start()
  },
})

/** What happens to a process and its clock. */
export const HOST_KINDS: Kinds = {
  pause: {
    minutes: [0.01, 2],
    begin: ({ replica }, pick, forMs) => {
      const host = pick.host(replica.host)
      host.pauseFor(forMs)
    },
  },
  'clock step': {
    minutes: [0.02, 20],
    begin: ({ replica }, pick) => {
      const host = pick.host(replica.host)
      host.stepTo(pick.of(-90_000, -3_000, -1_000, 1_000, 3_000, 90_000, 3_600_000))
      return () => host.stepTo(0)
    },
  },
  'wrong clock': {
    minutes: [60, 180],
    begin: (_parts, pick) => {
      const { host } = pick.ingester()
      host.stepTo(pick.of(-3_600_000, -30_000, 30_000, 3_600_000))
      return () => host.stepTo(0)
    },
  },
  import: {
    minutes: [1, 60],
    sparesLive: true,
    begin: ({ world, exchanges, redis, note }, pick) =>
      startImport(world, exchanges, redis, [pick.of('BTC', 'ETH'), pick.of('AVAX', 'KNC')], note),
  },
  restart: absence(ingester => void ingester.end()),
  kill: absence(ingester => ingester.kill()),
}
