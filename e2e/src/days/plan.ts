import { type EpochMs, formatTimestamp, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import { type RawRedis, readSamples } from '@kimchi/testkit'
import type { Draws } from '../seeded-random.ts'
import type { openExchanges } from './exchanges.ts'
import type { Oracle } from './oracle.ts'
import type { DayRedis } from './redis.ts'
import { COINS, type createReplica, type DayIngester } from './service.ts'
import type { Host, World } from './world.ts'

export interface DayParts {
  readonly world: World
  readonly exchanges: ReturnType<typeof openExchanges>
  readonly redis: DayRedis
  readonly ingesters: readonly DayIngester[]
  readonly replica: ReturnType<typeof createReplica>
  /** Whether the ingesters track all coins, not those of a list. */
  readonly isAll: boolean
  readonly find: Oracle['find']
}

/** A day ends without faults for an hour, a shorter one for a fourth of it: what can be known is to be stored by then. */
const QUIET_MINUTES = 60

/** Minutes after the last fault's end by which nothing that can be known is missing: docs/faults.md, 112. */
const WHOLE_WITHIN = 5
/** A ban may state ten minutes, which are kept to after its end too. */
const WHOLE_WITHIN_OF_BAN = 15

/** The lists are read once an hour, and a new pair is believed after half an hour: docs/coins.md#3-the-quarantine. */
const TRACKED_WITHIN_MS = 120 * MINUTE_MS

type SimulatedFault = Parameters<DayParts['exchanges']['simulator']['faults']['set']>[0]
type Exchange = 'upbit' | 'binance'

/** One kind of fault. */
interface Kind {
  /** How long it lasts at least and at most, in minutes. */
  readonly minutes: readonly [number, number]
  /** Begins it; the returned function ends it */
  begin(parts: DayParts, pick: Pick, forMs: Milliseconds): (() => unknown) | Promise<void>
}

/** What a fault draws from the seed. */
interface Pick {
  exchange(): Exchange
  ingester(): DayIngester
  of<T>(...choices: readonly T[]): T
  /** A market that is about to halt: its coin may lack minutes. */
  halting(exchange: Exchange): string
  /** All coins may be held for halted for as long. */
  anyHalting(): void
  /** Binance is about to write no candles: no price is carried across them, until a market's next trade. */
  lackingCandles(): void
  /** A market whose frames are about to be lost, of which nothing tells. */
  unseen(exchange: Exchange): string
  between(from: number, to: number): number
}

/** A coin that may be held for halted, or a market whose frames are lost. */
interface Span {
  readonly of: string
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

const absence = (leave: (ingester: DayIngester) => void): Kind => ({
  minutes: [0.02, 30],
  begin: (_parts, pick) => {
    const ingester = pick.ingester()
    if (!ingester.isRunning()) return () => {}
    leave(ingester)
    return () => ingester.start()
  },
})

/** The minutes from an instant on of which live samples are stored, as `2026-11-30T02:31:00 BTC`. */
async function liveMinutes(redis: RawRedis, from: EpochMs): Promise<ReadonlySet<string>> {
  const samples = (await Promise.all(COINS.map(symbol => readSamples(redis, symbol, () => {})))).flat()
  const live = samples.filter(({ source, minute }) => source === 'live' && minute * MINUTE_MS >= from)
  return new Set(live.map(({ symbol, minute }) => `${formatTimestamp(minute)} ${symbol}`))
}

/** A row of candles as no exchange should send it. */
function alterRow(rows: unknown[], alter: 'double' | 'null' | 'missing' | 'absent'): void {
  const index = rows.length >> 1
  const row = rows[index] as Record<string, unknown>
  const close = Array.isArray(row) ? '4' : 'trade_price'
  if (row === undefined) return
  if (alter === 'double')
    rows.splice(index, 0, Object.assign(structuredClone(row), { [close]: row['1'] ?? 1 }))
  else if (alter === 'absent') rows.splice(index, Array.isArray(row) ? 1 : 0)
  else if (alter === 'null') row[close] = null
  else delete row[close]
}

const RETRY_AFTER: readonly ((now: EpochMs) => number | string | undefined)[] = [
  () => undefined,
  () => 90,
  () => 0,
  now => new Date(now + 120_000).toUTCString(),
  () => 'soon',
]

const KINDS: Readonly<Record<string, Kind>> = {
  // At least as long as what docs/architecture.md calls a silence.
  silence: simulated([0.06, 20], pick => {
    const delivery = pick.of('never', 'late')
    return { kind: 'silence', exchange: pick.exchange(), delivery }
  }),
  'half-open': simulated([0.06, 10], pick => ({ kind: 'half-open', exchange: pick.exchange() })),
  drop: simulated([0.02, 5], pick => ({
    kind: 'drop',
    exchange: pick.exchange(),
    forMs: pick.of(1, 30_000),
  })),
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
  'silent market': simulated([0.1, 20], pick => {
    const exchange = pick.exchange()
    return { kind: 'silence', exchange, market: pick.unseen(exchange) }
  }),
  'wrong price': simulated([0.02, 30], pick => {
    const exchange = pick.exchange()
    // Null or no number, none, a redenomination either way.
    const factor = pick.of(Number.NaN, 0, -1, 1_000, 0.001)
    return { kind: 'price', exchange, market: market(exchange, pick.of(...COINS)), factor }
  }),
  'wrong rate': simulated([0.02, 10], pick => {
    return { kind: 'price', exchange: 'upbit', market: 'KRW-USDT', factor: pick.of(Number.NaN, 10, 0.1) }
  }),
  spike: simulated([0.02, 0.9], pick => {
    const exchange = pick.exchange()
    return { kind: 'price', exchange, market: market(exchange, pick.of('BTC', 'ETH')), factor: 1.25 }
  }),
  garbage: simulated([0.02, 3], pick => {
    const shape = pick.of('truncated', 'utf8', 'nested', 'noise')
    return { kind: 'garbage', exchange: pick.exchange(), shape, frames: pick.between(1, 200) }
  }),
  halt: simulated([2, 90], pick => {
    const exchange = pick.exchange()
    return { kind: 'halt', exchange, market: pick.halting(exchange) }
  }),
  outage: simulated([2, 30], pick => {
    const exchange = pick.exchange()
    const klines = pick.of('flat', 'none')
    if (exchange === 'binance' && klines === 'none') pick.lackingCandles()
    return { kind: 'outage', exchange, klines }
  }),
  maintenance: simulated([480, 481], pick => ({ kind: 'outage', exchange: pick.exchange() })),
  lag: simulated([1, 60], pick => ({ kind: 'lag', exchange: 'upbit', maxMs: pick.of(300, 1_550) })),
  shutdown: simulated([1, 2], () => ({ kind: 'shutdown', exchange: 'binance' })),
  'snapshots once': simulated([10, 60], () => ({ kind: 'snapshots-once', exchange: 'upbit' })),
  'late candles': simulated([5, 60], pick => {
    return { kind: 'late-candles', exchange: 'upbit', lateMs: pick.between(1_000, 30_000) }
  }),
  'bad answer': simulated([1, 30], pick => {
    const exchange = pick.exchange()
    const mode = pick.of('empty', 'half', 'truncated')
    // Half a list of what trades says of all others, whenever it is asked for, that they don't.
    if (mode === 'half') pick.anyHalting()
    return { kind: 'rest', exchange, mode }
  }),
  'omitted market': simulated([0.5, 2], pick => {
    const omitted = market('binance', pick.of(...COINS))
    return {
      kind: 'rest',
      exchange: 'binance',
      mode: 'omit',
      path: '/api/v3/ticker',
      without: omitted,
      frames: 1,
    }
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
      weather.latencyMs = pick.of(300, 1_000, 1_400, 1_900)
      return () => Object.assign(weather, { latencyMs: before })
    },
  },
  stall: {
    minutes: [0.01, 0.75],
    begin: ({ world }, pick, forMs) => {
      pick.ingester().weather.stalledUntil = world.now + forMs
      return () => {}
    },
  },
  // What the old connections still have to say comes when others have taken their place, or never.
  'old connections': {
    minutes: [0.01, 1],
    begin: ({ exchanges, world }, pick, forMs) => {
      const { host } = pick.ingester()
      for (const wire of exchanges.wires) if (wire.host === host) wire.stalledUntil = world.now + forMs
      const announced: SimulatedFault = { kind: 'shutdown', exchange: 'binance' }
      return pick.of(true, false) ? exchanges.simulator.faults.set(announced) : () => {}
    },
  },
  storm: {
    minutes: [0.1, 5],
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      weather.copies = pick.of(2, 20)
      return () => Object.assign(weather, { copies: 1 })
    },
  },
  'odd candles': {
    minutes: [1, 30],
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      const alter = pick.of('double', 'null', 'missing', 'absent')
      weather.alterRows = rows => {
        alterRow(rows, alter)
        // A candle that is absent twice is believed to be.
        if (alter === 'absent' && rows.length > 1) weather.alterRows = () => {}
      }
      return () => Object.assign(weather, { alterRows: () => {} })
    },
  },
  'cut socket': {
    minutes: [0.02, 0.1],
    begin: ({ exchanges }, pick) => {
      const { host } = pick.ingester()
      const isNoticed = pick.of(true, false)
      for (const wire of [...exchanges.wires]) if (wire.host === host) wire.cut(isNoticed)
      return () => {}
    },
  },
  pause: {
    minutes: [0.01, 2],
    begin: ({ replica }, pick, forMs) => {
      const host = pick.of(pick.ingester().host, replica.host)
      host.pauseFor(forMs)
      return () => {}
    },
  },
  'clock step': {
    minutes: [0.02, 20],
    begin: ({ replica }, pick) => {
      const host = pick.of(pick.ingester().host, replica.host)
      host.stepTo(pick.of(-90_000, -3_000, -1_000, 1_000, 3_000, 90_000, 3_600_000))
      return () => host.stepTo(0)
    },
  },
  restart: absence(ingester => void ingester.end()),
  kill: absence(ingester => ingester.kill()),
  'Redis away': {
    minutes: [0.02, 30],
    begin: ({ redis, world }) => {
      redis.state.isUp = false
      redis.cut()
      return () => Object.assign(redis.state, { isUp: true, upSince: world.now })
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
    minutes: [3, 4],
    begin: async ({ redis, world, ingesters, find }, pick) => {
      await redis.save()
      const lose = async () => {
        const lostAt = world.now
        const hosts = ingesters.map(({ host }) => host)
        const from = Math.max(lostAt - 5 * MINUTE_MS, ...hosts.map(host => host.startedAt + MINUTE_MS))
        const confirmed = await liveMinutes(redis.raw, from)
        await redis.reload()
        redis.cut()
        const check = async () => {
          // What an ingester that has ended had written, candles have to bring back.
          const isCalm = (host: Host, i: number) => ingesters[i]?.host === host && host.troubledUntil < lostAt
          if (redis.state.upSince > lostAt || !redis.state.isUp || !hosts.every(isCalm)) return
          const kept = await liveMinutes(redis.raw, from)
          for (const each of confirmed)
            if (!kept.has(each)) find(each.slice(0, 19), `not sent again: ${each}`)
        }
        world.after(2 * MINUTE_MS, check)
      }
      world.after(pick.between(100, 20_000), lose)
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

/** Draws the faults of a day from its seed, some at a time, and has them begin and end. */
export function planDay(parts: DayParts, draws: Draws, minutes: number, note: (what: string) => void) {
  const { world, ingesters } = parts
  const quietMs = Math.min(QUIET_MINUTES, minutes / 4) * MINUTE_MS
  const [halts, losses, holes]: [Span[], Span[], Span[]] = [[], [], []]
  /** Until when the minutes of a coin that was delisted and listed again, all since then, may be missing. */
  const relistings: Span[] = []
  const spanOf = (spans: Span[], of: string, from: EpochMs) => {
    spans.push({ of, from, to: Number.POSITIVE_INFINITY })
    return of
  }
  const pick: Pick = {
    between: (from, to) => draws.between(from, to),
    of: (...choices) => draws.of(choices),
    halting: exchange => market(exchange, spanOf(halts, draws.of(COINS.slice(1)), world.now - MINUTE_MS)),
    anyHalting: () => {
      for (const symbol of COINS) spanOf(halts, symbol, world.now - MINUTE_MS)
    },
    lackingCandles: () => spanOf(holes, 'binance', world.now - MINUTE_MS),
    unseen: exchange => spanOf(losses, market(exchange, draws.of(COINS.slice(1, 4))), world.now),
    exchange: () => pick.of('upbit', 'binance'),
    ingester: () => draws.of(ingesters),
  }
  const until = world.now + minutes * MINUTE_MS - quietMs
  let active = 0
  /** The faults since all was well. */
  let episode = { from: world.now, to: world.now, kinds: ['start'] }
  const beginOne = async (name: string): Promise<void> => {
    const { minutes: range, begin } = KINDS[name] as Kind
    const [least, most] = range.map(Math.log) as [number, number]
    const forMs = Math.ceil(Math.exp(least + draws.next() * (most - least)) * MINUTE_MS)
    if (world.now + forMs > until) return
    note(`${name} begins`)
    active += 1
    episode.kinds.push(name)
    const before = [halts.length, losses.length, holes.length] as const
    const end = await begin(parts, pick, forMs)
    const spans = [...halts.slice(before[0]), ...losses.slice(before[1]), ...holes.slice(before[2])]
    for (const span of spans) span.to = world.now + forMs + BACK_WITHIN_MS
    if (name === 'delisting')
      for (const { of, from, to } of spans) relistings.push({ of, from, to: to + TRACKED_WITHIN_MS })
    world.after(forMs, () => {
      note(`${name} ends`)
      active -= 1
      episode.to = world.now
      return end?.()
    })
  }
  const meet = (): void => {
    if (world.now >= until) return
    for (let count = draws.between(1, 4); count > 0; count--) {
      // Half of them begin just before a minute ends, or just after.
      const at = world.now + draws.between(0, 90_000)
      const near = Math.ceil(at / MINUTE_MS) * MINUTE_MS + draws.between(-4_000, 6_000)
      const name = draws.of(Object.keys(KINDS))
      world.at(draws.of([at, near]), () => beginOne(name))
    }
    world.after(draws.between(5, 30) * MINUTE_MS, meet)
  }
  // docs/exchanges.md#upbit-websocket
  parts.exchanges.simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550, share: 0.2 })
  // A coin that is listed only later, for ingesters that track all.
  if (parts.isAll) world.after(0, () => beginOne('delisting'))
  world.after(10 * MINUTE_MS, meet)
  const isIn = (spans: readonly Span[]) => (of: string, at: EpochMs) =>
    spans.some(span => span.of === of && span.from <= at && at <= span.to)
  const isHalted = isIn(halts)
  const isAfterHole = (symbol: string, at: EpochMs) => {
    const traded = parts.exchanges.simulator.prices.lastTrade('binance', market('binance', symbol), at)
    return holes.some(
      ({ from, to }) => from <= at && (traded === undefined || traded.at < to - BACK_WITHIN_MS),
    )
  }
  const isRelisted = (symbol: string, at: EpochMs) =>
    relistings.some(({ of, from, to }) => of === symbol && from <= at && world.now < to)
  return {
    /** Whether a coin may lack a minute, without a fault that lasts then. */
    isHalted: (symbol: string, at: EpochMs) =>
      isHalted(symbol, at) || isAfterHole(symbol, at) || isRelisted(symbol, at),
    isUnseen: isIn(losses),
    /** The faults that are over, where none is active. */
    past: () => (active === 0 && episode.kinds.length > 0 ? episode : undefined),
    wholeWithin: () => (episode.kinds.includes('ban') ? WHOLE_WITHIN_OF_BAN : WHOLE_WITHIN),
    /** Nothing that can be known is missing any more. */
    recovered: () => {
      episode = { from: world.now, to: world.now, kinds: [] }
    },
  }
}
