import { DAY_MINUTES, DAY_MS, formatTimestamp, MINUTE_MS } from '@kimchi/core'
import { candleSamples, foldDay } from '@kimchi/testkit'
import { type DayIngester, RETENTION_DAYS, startImport } from '../service.ts'
import type { DayParts, Kind, Kinds } from './kind.ts'

const absence = (leave: (ingester: DayIngester) => void): Kind => ({
  minutes: [0.02, 30],
  begin: (_parts, pick) => {
    const ingester = pick.ingester()
    if (!ingester.isRunning()) return undefined
    leave(ingester)
    return () => ingester.start()
  },
})

/** The coin of which imports find half a day. */
export const PARTIAL = 'LINK'

/** Has an import find half of its day; the returned function judges what it says at its end. */
function halfDay({ world, exchanges, redis, find, note }: DayParts): (printed: string) => void {
  const beganAt = world.now
  const day = () => Math.floor(world.now / DAY_MS) - RETENTION_DAYS - 1
  const [key, began] = [`{kp}:daily:${PARTIAL}`, day()]
  const date = formatTimestamp(began * DAY_MINUTES).slice(0, 10)
  const half = candleSamples(PARTIAL, began, exchanges.simulator).slice(0, DAY_MINUTES / 2)
  const row = JSON.stringify(foldDay(half))
  void redis.raw.hsetnx(key, date, row)
  void redis.raw.hincrby('{kp}:revisions', PARTIAL, 1)
  return printed => {
    note(printed.split('\n').at(-1) ?? '')
    // It names what it leaves out.
    const isDone = /complete/i.test(printed) && !printed.includes(`${PARTIAL}:`)
    world.after(MINUTE_MS, async () => {
      if ((await redis.raw.hget(key, date)) !== row) return
      // A Redis that has become an older one may have it again.
      const isJudged = isDone && day() === began && redis.state.lostAt < beganAt
      if (isJudged) find(`${date}T00:00:00`, `half a day of ${PARTIAL} left by an import`)
      await redis.raw.hdel(key, date)
    })
  }
}

/** What happens to a process and its clock. */
export const HOST_KINDS: Kinds = {
  pause: {
    minutes: [0.01, 2],
    begin: ({ replica }, pick, forMs) => void pick.host(replica.host).pauseFor(forMs),
  },
  'wrong clock': {
    minutes: [0.02, 180],
    begin: ({ replica }, pick) => {
      const host = pick.host(replica.host)
      host.stepTo(pick.of(-3_600_000, -90_000, -3_000, -1_000, 1_000, 3_000, 30_000, 3_600_000))
      return () => host.stepTo(0)
    },
  },
  import: {
    minutes: [1, 60],
    sparesLive: true,
    begin: (parts, pick) => {
      const { world, exchanges, redis } = parts
      const coins = [PARTIAL, pick.of('BTC', 'ETH', 'AVAX', 'KNC')]
      return startImport(world, exchanges, redis, coins, halfDay(parts))
    },
  },
  restart: absence(ingester => void ingester.end()),
  kill: absence(ingester => ingester.kill()),
}
