import { type EpochMs, MINUTE_MS } from '@kimchi/core'
import type { Draws } from '../seeded-random.ts'
import type { openExchanges } from './exchanges.ts'
import type { DayRedis } from './redis.ts'
import { COINS, type createReplica, type DayIngester } from './service.ts'
import type { World } from './world.ts'

export interface DayParts {
  readonly world: World
  readonly exchanges: ReturnType<typeof openExchanges>
  readonly redis: DayRedis
  readonly ingesters: readonly DayIngester[]
  readonly replica: ReturnType<typeof createReplica>
}

/**
 * A day begins and ends without faults for an hour, a shorter one for a fourth of it: what can be known is to be stored
 * by then.
 */
const QUIET_MINUTES = 60

type SimulatedFault = Parameters<DayParts['exchanges']['simulator']['faults']['set']>[0]
type Exchange = 'upbit' | 'binance'

/** One kind of fault. */
interface Kind {
  /** How long it lasts at least and at most, in minutes. */
  readonly minutes: readonly [number, number]
  /** Begins it; the returned function ends it */
  begin(parts: DayParts, pick: Pick): (() => unknown) | Promise<void>
}

/** What a fault draws from the seed. */
interface Pick {
  exchange(): Exchange
  ingester(): DayIngester
  of<T>(...choices: readonly T[]): T
  /** A market that is about to halt: its coin may lack minutes. */
  halting(exchange: Exchange): string
  between(from: number, to: number): number
}

/** A coin that may be held for halted. */
interface Halt {
  readonly symbol: string
  readonly from: EpochMs
  to: EpochMs
}

/** A halted coin is back within 150 s of trading again, and its minutes without a known trade are settled. */
const BACK_WITHIN_MS = 4 * MINUTE_MS

const market = (exchange: Exchange, coin: string) => (exchange === 'upbit' ? `KRW-${coin}` : `${coin}USDT`)

/** A fault that the simulator knows. */
const simulated = (
  minutes: Kind['minutes'],
  faultOf: (pick: Pick, now: EpochMs) => SimulatedFault,
): Kind => ({
  minutes,
  begin: ({ exchanges, world }, pick) => exchanges.simulator.faults.set(faultOf(pick, world.now)),
})

const RETRY_AFTER: readonly ((now: EpochMs) => number | string | undefined)[] = [
  () => undefined,
  () => 90,
  () => 0,
  now => new Date(now + 120_000).toUTCString(),
  () => 'soon',
]

const KINDS: Readonly<Record<string, Kind>> = {
  silence: simulated([1, 20], pick => {
    const delivery = pick.of('never', 'late')
    return { kind: 'silence', exchange: pick.exchange(), delivery }
  }),
  'half-open': simulated([1, 10], pick => ({ kind: 'half-open', exchange: pick.exchange() })),
  drop: simulated([1, 5], pick => ({ kind: 'drop', exchange: pick.exchange(), forMs: pick.of(1, 30_000) })),
  'refused handshake': simulated([1, 30], pick => {
    const status = pick.of<number | 'hang'>(403, 418, 429, 451, 500, 503, 'hang')
    return { kind: 'refuse', exchange: pick.exchange(), status, on: 'ws' }
  }),
  'refused request': simulated([1, 40], (pick, now) => {
    const status = pick.of<number | 'hang'>(400, 403, 404, 418, 429, 451, 500, 503, 'hang')
    const retryAfter = pick.of(...RETRY_AFTER)(now)
    const share = pick.of(1, 0.5)
    const when = retryAfter === undefined ? {} : { retryAfter }
    return { kind: 'refuse', exchange: pick.exchange(), status, on: 'rest', share, ...when }
  }),
  ban: simulated([5, 60], (pick, now) => {
    const retryAfter = pick.of<number | string>(60, 600, new Date(now + 600_000).toUTCString())
    return { kind: 'refuse', exchange: pick.exchange(), status: pick.of(418, 429), retryAfter }
  }),
  garbage: simulated([1, 3], pick => {
    const shape = pick.of('truncated', 'utf8', 'nested', 'noise')
    return { kind: 'garbage', exchange: pick.exchange(), shape, frames: pick.between(1, 200) }
  }),
  halt: simulated([2, 90], pick => {
    const exchange = pick.exchange()
    return { kind: 'halt', exchange, market: pick.halting(exchange) }
  }),
  outage: simulated([2, 30], pick => {
    return { kind: 'outage', exchange: pick.exchange(), klines: pick.of('flat', 'none') }
  }),
  maintenance: simulated([480, 481], pick => ({ kind: 'outage', exchange: pick.exchange() })),
  lag: simulated([1, 60], pick => ({ kind: 'lag', exchange: 'upbit', maxMs: pick.between(100, 1_500) })),
  shutdown: simulated([1, 2], () => ({ kind: 'shutdown', exchange: 'binance' })),
  'snapshots once': simulated([10, 60], () => ({ kind: 'snapshots-once', exchange: 'upbit' })),
  'late candles': simulated([5, 60], pick => {
    return { kind: 'late-candles', exchange: 'upbit', lateMs: pick.between(1_000, 30_000) }
  }),
  'bad answer': simulated([1, 30], pick => {
    const exchange = pick.exchange()
    const mode = pick.of('empty', 'half', 'truncated')
    return { kind: 'rest', exchange, mode }
  }),
  delisting: {
    minutes: [5, 120],
    begin: ({ exchanges }, pick) => {
      const exchange = pick.exchange()
      const code = pick.halting(exchange)
      // It no longer trades either.
      const resume = exchanges.simulator.faults.set({ kind: 'halt', exchange, market: code })
      const relist = exchanges.simulator.delist(code)
      return () => {
        relist()
        resume()
      }
    },
  },
  latency: {
    minutes: [1, 60],
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      const before = weather.latencyMs
      weather.latencyMs = pick.of(300, 1_000, 1_400)
      return () => Object.assign(weather, { latencyMs: before })
    },
  },
  stall: {
    minutes: [1, 2],
    begin: ({ world }, pick) => {
      pick.ingester().weather.stalledUntil = world.now + pick.between(500, 45_000)
      return () => {}
    },
  },
  'cut socket': {
    minutes: [1, 2],
    begin: ({ exchanges }, pick) => {
      const { host } = pick.ingester()
      const isNoticed = pick.of(true, false)
      for (const wire of [...exchanges.wires]) if (wire.host === host) wire.cut(isNoticed)
      return () => {}
    },
  },
  pause: {
    minutes: [1, 3],
    begin: ({ world, replica }, pick) => {
      const host = pick.of(pick.ingester().host, replica.host)
      host.pausedUntil = world.now + pick.of(pick.between(100, 5_000), pick.between(5_000, 120_000))
      return () => {}
    },
  },
  'clock step': {
    minutes: [1, 20],
    begin: ({ replica }, pick) => {
      const host = pick.of(pick.ingester().host, replica.host)
      host.wallOffset = pick.of(-90_000, -3_000, -1_000, 1_000, 3_000, 90_000, 3_600_000)
      return () => Object.assign(host, { wallOffset: 0 })
    },
  },
  restart: {
    minutes: [1, 30],
    begin: (_parts, pick) => {
      const ingester = pick.ingester()
      if (!ingester.isRunning()) return () => {}
      void ingester.end()
      return () => ingester.start()
    },
  },
  'Redis away': {
    minutes: [1, 30],
    begin: ({ redis }) => {
      redis.state.isUp = false
      redis.cut()
      return () => Object.assign(redis.state, { isUp: true })
    },
  },
  'Redis cut': {
    minutes: [1, 2],
    begin: ({ redis, replica }, pick) => {
      redis.cut(pick.of(undefined, pick.ingester().host, replica.host))
      return () => {}
    },
  },
  'lost writes': {
    minutes: [1, 2],
    begin: async ({ redis, world }, pick) => {
      await redis.save()
      const lose = async () => {
        await redis.reload()
        redis.cut()
      }
      world.after(pick.between(100, 1_000), lose)
    },
  },
  'lost replies': {
    minutes: [1, 2],
    begin: ({ redis }, pick) => {
      redis.state.lostReplies = pick.between(1, 4)
      return () => {}
    },
  },
  'no library': {
    minutes: [1, 2],
    begin: async ({ redis }) => {
      await redis.flushFunctions()
    },
  },
}

/** Draws the faults of a day from its seed, two or three at a time, and has them begin and end. */
export function planDay(parts: DayParts, draws: Draws, minutes: number, note: (what: string) => void) {
  const { world, ingesters } = parts
  const quietMs = Math.min(QUIET_MINUTES, minutes / 4) * MINUTE_MS
  const halts: Halt[] = []
  const pick: Pick = {
    between: (from, to) => draws.between(from, to),
    of: (...choices) => draws.of(choices),
    halting: exchange => {
      const symbol = pick.of(...COINS.slice(1))
      halts.push({ symbol, from: world.now, to: Number.POSITIVE_INFINITY })
      return market(exchange, symbol)
    },
    exchange: () => pick.of('upbit', 'binance'),
    ingester: () => pick.of(...ingesters) as DayIngester,
  }
  const names = Object.keys(KINDS)
  const until = world.now + minutes * MINUTE_MS - quietMs
  const beginOne = async (): Promise<void> => {
    const name = draws.of(names)
    const { minutes: range, begin } = KINDS[name] as Kind
    const forMs = Math.floor((range[0] + draws.next() * (range[1] - range[0])) * MINUTE_MS)
    if (world.now + forMs > until) return
    note(`${name} begins`)
    const before = halts.length
    const end = await begin(parts, pick)
    for (const halt of halts.slice(before)) halt.to = world.now + forMs
    world.after(forMs, () => {
      note(`${name} ends`)
      return end?.()
    })
  }
  const meet = (): void => {
    if (world.now >= until) return
    for (let count = draws.between(1, 4); count > 0; count--) world.after(draws.between(0, 90_000), beginOne)
    world.after(draws.between(10, 50) * MINUTE_MS, meet)
  }
  world.after(quietMs, meet)
  const isHalted = (symbol: string, at: EpochMs) =>
    halts.some(
      halt => halt.symbol === symbol && halt.from - MINUTE_MS <= at && at <= halt.to + BACK_WITHIN_MS,
    )
  return { isHalted }
}
