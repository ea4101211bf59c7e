import { type EpochMs, formatTimestamp, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import { beginWildQuarter, type RawRedis, readSamples, WILD_MINUTES } from '@kimchi/testkit'
import type { Alteration, openExchanges, Weather } from './exchanges.ts'
import type { Oracle } from './oracle.ts'
import type { DayRedis } from './redis.ts'
import { COINS, type createReplica, type DayIngester, startImport } from './service.ts'
import type { Host, World } from './world.ts'

export interface DayParts {
  readonly world: World
  readonly exchanges: ReturnType<typeof openExchanges>
  readonly redis: DayRedis
  readonly ingesters: readonly DayIngester[]
  readonly replica: ReturnType<typeof createReplica>
  /** Whether the ingesters track all coins, not those of a list. */
  readonly isAll: boolean
  /** Whether trades are so many that no exchange is ever silent for seconds. */
  readonly isBusy: boolean
  readonly find: Oracle['find']
  readonly note: (what: string) => void
  readonly hasListed: Oracle['hasListed']
}

type SimulatedFault = Parameters<DayParts['exchanges']['simulator']['faults']['set']>[0]
type FieldsFault = Extract<SimulatedFault, { kind: 'fields' }>
type Exchange = 'upbit' | 'binance'

/** One kind of fault. */
export interface Kind {
  /** How long it lasts at least and at most, in minutes. */
  readonly minutes: readonly [number, number]
  /** Whether the service lives through it without losing a live minute. @default false */
  readonly sparesLive?: boolean
  /** Whether it loses frames, which shows when they are the last before a minute's end. @default false */
  readonly losesFrames?: boolean
  /** Begins it; the returned function ends it, where it doesn't end by itself. */
  begin(parts: DayParts, pick: Pick, forMs: Milliseconds): (() => unknown) | undefined | Promise<void>
}

/** What a fault draws from the seed. A coin or an ingester that it draws is the only one that it hits. */
export interface Pick {
  exchange(): Exchange
  ingester(): DayIngester
  /** An ingester's, or the replica's. */
  host(replica: Host): Host
  /** One of these coins, or of all, the quiet ones more often. */
  coin(...coins: readonly string[]): string
  of<T>(...choices: readonly T[]): T
  /** A market that is about to halt: its coin may lack minutes. */
  halting(exchange: Exchange): string
  /** All coins may be held for halted for as long. */
  anyHalting(): void
  /** Binance is about to write no candles: no price is carried across them, until a market's next trade. */
  lackingCandles(): void
  /** Live minutes may be lost for as long as it takes to recover from what happens now. */
  losingLive(): void
  /** A market whose frames are about to be lost, of which nothing tells. */
  unseen(exchange: Exchange): string
  between(from: number, to: number): number
}

export const market = (exchange: Exchange, coin: string) =>
  exchange === 'upbit' ? `KRW-${coin}` : `${coin}USDT`

/** A fault that the simulator knows. */
const simulated = (
  minutes: Kind['minutes'],
  faultOf: (pick: Pick, now: EpochMs) => SimulatedFault,
  rule: Partial<Kind> = {},
): Kind => ({
  minutes,
  begin: ({ exchanges, world }, pick) => exchanges.simulator.faults.set(faultOf(pick, world.now)),
  ...rule,
})

/** Changes the answers of some ingesters' requests. */
const altered = (ingesters: readonly DayIngester[], alterOf: (weather: Weather) => Alteration) => {
  const changed = ingesters.map(({ weather }) => ({ weather, alter: alterOf(weather) }))
  for (const { weather, alter } of changed) weather.alterations.add(alter)
  return () => {
    for (const { weather, alter } of changed) weather.alterations.delete(alter)
  }
}

const absence = (leave: (ingester: DayIngester) => void): Kind => ({
  minutes: [0.02, 30],
  begin: (_parts, pick) => {
    const ingester = pick.ingester()
    if (!ingester.isRunning()) return undefined
    leave(ingester)
    return () => ingester.start()
  },
})

/** The minutes from an instant on of which live samples are stored, as `2026-11-30T02:31:00 BTC`. */
async function liveMinutes(redis: RawRedis, from: EpochMs): Promise<ReadonlySet<string>> {
  const samples = (
    await Promise.all(COINS.map(symbol => readSamples(redis, symbol, () => {}, from / MINUTE_MS)))
  ).flat()
  const live = samples.filter(({ source, minute }) => source === 'live' && minute * MINUTE_MS >= from)
  return new Set(live.map(({ symbol, minute }) => `${formatTimestamp(minute)} ${symbol}`))
}

/** Fields of frames that are not as documented. */
const ODD_FIELDS: Readonly<Record<Exchange, Readonly<Record<string, FieldsFault['alter']>>>> = {
  upbit: {
    'no price': () => ({ trade_price: undefined }),
    'price null': () => ({ trade_price: null }),
    'price a text': ({ trade_price }) => ({ trade_price: String(trade_price) }),
    'no time': () => ({ trade_timestamp: undefined }),
    'time in seconds': ({ trade_timestamp }) => ({
      trade_timestamp: Math.floor(Number(trade_timestamp) / 1_000),
    }),
    'dated ahead': ({ trade_timestamp, timestamp }) => ({
      trade_timestamp: Number(trade_timestamp) + 5_000,
      timestamp: Number(timestamp) + 5_000,
    }),
  },
  binance: {
    'no price': () => ({ c: undefined }),
    'price null': () => ({ c: null }),
    'price a number': ({ c }) => ({ c: Number(c) }),
    'no time': () => ({ E: undefined }),
    'time in microseconds': ({ E }) => ({ E: Number(E) * 1_000 }),
    'dated ahead': ({ E }) => ({ E: Number(E) + 5_000 }),
  },
}

const CANDLES = /candles|klines/

const RETRY_AFTER: readonly ((now: EpochMs) => number | string | undefined)[] = [
  () => undefined,
  () => 90,
  () => 0,
  now => new Date(now + 120_000).toUTCString(),
  () => 'soon',
]

export const KINDS: Readonly<Record<string, Kind>> = {
  // At least as long as what docs/architecture.md calls a silence.
  silence: simulated([0.06, 20], pick => {
    const delivery = pick.of('never', 'late')
    return { kind: 'silence', exchange: pick.exchange(), delivery }
  }),
  'half-open': simulated([0.06, 10], pick => ({ kind: 'half-open', exchange: pick.exchange() })),
  drop: simulated(
    [0.02, 5],
    pick => ({ kind: 'drop', exchange: pick.exchange(), forMs: pick.of(1, 30_000) }),
    { losesFrames: true },
  ),
  'refused handshake': simulated([1, 30], pick => {
    const status = pick.of<number | 'hang'>(403, 418, 429, 451, 500, 503, 'hang')
    return { kind: 'refuse', exchange: pick.exchange(), status, on: 'ws' }
  }),
  'refused request': simulated([1, 40], (pick, now) => {
    const status = pick.of<number | 'hang'>(400, 403, 404, 429, 500, 503, 'hang')
    const retryAfter = pick.of(...RETRY_AFTER)(now)
    const share = pick.of(1, 0.5)
    const when = retryAfter === undefined ? {} : { retryAfter }
    return { kind: 'refuse', exchange: pick.exchange(), status, on: 'rest', share, ...when }
  }),
  // Our own waits for these are five and ten minutes.
  block: simulated([1, 40], pick => {
    return { kind: 'refuse', exchange: pick.exchange(), status: pick.of(418, 451), on: 'rest' }
  }),
  ban: simulated([5, 60], (pick, now) => {
    const retryAfter = pick.of<number | string>(60, 600, new Date(now + 600_000).toUTCString())
    return { kind: 'refuse', exchange: pick.exchange(), status: pick.of(418, 429), retryAfter }
  }),
  // While the other one is well; then the other way round.
  'refused base': {
    minutes: [15, 60],
    sparesLive: true,
    begin: ({ exchanges, world }, pick, forMs) => {
      const exchange = pick.exchange()
      const status = pick.of<number | 'hang'>(403, 451, 500, 503, 'hang')
      const refuse = (host: string) => {
        pick.losingLive()
        exchanges.simulator.faults.set({ kind: 'drop', exchange })
        return exchanges.simulator.faults.set({ kind: 'refuse', exchange, status, host })
      }
      let admit = refuse(exchange)
      world.after(forMs / 2, () => {
        admit()
        admit = refuse(`${exchange}-2`)
      })
      return () => admit()
    },
  },
  'silent market': simulated([0.1, 20], pick => {
    const exchange = pick.exchange()
    return { kind: 'silence', exchange, market: pick.unseen(exchange) }
  }),
  'wrong price': simulated([0.02, 30], pick => {
    const exchange = pick.exchange()
    // Null or no number, none, a redenomination either way.
    const factor = pick.of(Number.NaN, 0, -1, 1_000, 0.001)
    return { kind: 'price', exchange, market: market(exchange, pick.coin()), factor }
  }),
  // A tenth of the rate would be plausible beside a coin at +130 %: nothing tells it from the truth.
  'wrong rate': simulated([0.02, 10], pick => {
    return { kind: 'price', exchange: 'upbit', market: 'KRW-USDT', factor: pick.of(Number.NaN, 100, 0.01) }
  }),
  // True prices: each minute is live.
  'wild quarter': {
    minutes: [WILD_MINUTES, WILD_MINUTES + 1],
    sparesLive: true,
    begin: ({ exchanges, world }) => void beginWildQuarter(exchanges.simulator, world.now),
  },
  garbage: simulated([0.02, 3], pick => {
    const shape = pick.of('truncated', 'utf8', 'nested', 'noise')
    return { kind: 'garbage', exchange: pick.exchange(), shape, frames: pick.between(1, 200) }
  }),
  'unreadable market': simulated([0.5, 10], pick => {
    const exchange = pick.exchange()
    // Bytes that still say whose they are.
    const shape = pick.of('truncated', 'utf8')
    return { kind: 'garbage', exchange, market: market(exchange, pick.coin()), shape }
  }),
  'odd frames': simulated([0.1, 10], pick => {
    const exchange = pick.exchange()
    const alter = ODD_FIELDS[exchange][pick.of(...Object.keys(ODD_FIELDS[exchange]))] ?? (() => ({}))
    return { kind: 'fields', exchange, market: market(exchange, pick.coin()), alter }
  }),
  'odd state': simulated([1, 60], pick => {
    const state = pick.of('DELISTED', 'PREVIEW', 'SUSPENDED')
    return { kind: 'state', exchange: 'upbit', market: pick.halting('upbit'), state }
  }),
  'refused market': simulated([1, 20], pick => {
    return { kind: 'reject', exchange: 'upbit', market: market('upbit', pick.of(...COINS)) }
  }),
  'omitted market': simulated([1, 30], pick => {
    const without = pick.halting('binance')
    return { kind: 'rest', exchange: 'binance', mode: 'omit', path: '/api/v3/ticker', without }
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
  lag: simulated([1, 60], pick => ({ kind: 'lag', exchange: 'upbit', maxMs: pick.of(300, 1_550) }), {
    sparesLive: true,
  }),
  shutdown: simulated([1, 2], () => ({ kind: 'shutdown', exchange: 'binance' }), { sparesLive: true }),
  'snapshots once': simulated([10, 60], () => ({ kind: 'snapshots-once', exchange: 'upbit' })),
  'late candles': simulated(
    [5, 60],
    pick => ({ kind: 'late-candles', exchange: 'upbit', lateMs: pick.between(1_000, 30_000) }),
    { sparesLive: true },
  ),
  'bad answer': simulated([1, 30], pick => {
    const exchange = pick.exchange()
    const mode = pick.of('empty', 'half', 'truncated')
    // Half a list of what trades says of all others, whenever it is asked for, that they don't.
    if (mode === 'half') pick.anyHalting()
    // Candles that two answers lack are believed not to be there.
    const isBelieved = mode === 'half' && exchange === 'upbit'
    return { kind: 'rest', exchange, mode, ...(isBelieved && { path: '/v1/market' }) }
  }),
  // Once for each ingester: what two answers lack is halted. The last market is one that rarely trades, without
  // which nobody notices that it was held for halted.
  'short answer': {
    minutes: [2, 3],
    sparesLive: true,
    begin: ({ ingesters }, pick) => {
      const length = pick.between(1, COINS.length)
      return altered(ingesters, () => {
        let isOver = false
        return (url, rows) => {
          if (isOver || !url.startsWith('/api/v3/ticker')) return rows
          isOver = true
          return rows.slice(0, length)
        }
      })
    },
  },
  delisting: {
    minutes: [5, 120],
    begin: ({ exchanges }, pick) => exchanges.simulator.delist(pick.halting(pick.exchange())),
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
    },
  },
  // What the old connections still have to say comes when others have taken their place, or never.
  'old connections': {
    minutes: [0.01, 1],
    begin: ({ exchanges, world }, pick, forMs) => {
      const { host } = pick.ingester()
      for (const way of exchanges.ways) if (way.host === host) way.stalledUntil = world.now + forMs
      const announced: SimulatedFault = { kind: 'shutdown', exchange: 'binance' }
      return pick.of(true, false) ? exchanges.simulator.faults.set(announced) : undefined
    },
  },
  storm: {
    minutes: [0.1, 5],
    sparesLive: true,
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      weather.copies = pick.of(2, 20)
      return () => Object.assign(weather, { copies: 1 })
    },
  },
  'odd candles': {
    minutes: [1, 30],
    sparesLive: true,
    begin: (_parts, pick) => {
      const alter = pick.of('double', 'null', 'missing')
      return altered([pick.ingester()], () => (url, rows) => {
        const index = rows.length >> 1
        const row = rows[index] as Record<string, unknown> | undefined
        if (row === undefined || !CANDLES.test(url)) return rows
        const close = Array.isArray(row) ? '4' : 'trade_price'
        const other = Object.assign(structuredClone(row), { [close]: row['1'] ?? 1 })
        if (alter === 'double') return rows.toSpliced(index, 0, other)
        if (alter === 'null') row[close] = null
        else delete row[close]
        return rows
      })
    },
  },
  // Every fourth minute, open ones among them, not those of all markets, and each in one answer: a candle that is
  // absent twice is believed to be.
  'absent candles': {
    minutes: [2, 20],
    begin: ({ exchanges, ingesters }, pick) => {
      const phase = pick.between(0, 4)
      // Only minutes without a live sample need candles.
      const hear = exchanges.simulator.faults.set({ kind: 'silence', exchange: 'binance' })
      const mend = altered(ingesters, ({ absentOnce }) => {
        return (url, rows) => {
          const symbol = /klines\?.*\bsymbol=(\w+)USDT/.exec(url)?.[1]
          if (symbol === undefined) return rows
          return rows.filter(row => {
            const openTime = (row as { 0: EpochMs })[0]
            const isAbsent = (openTime / MINUTE_MS + COINS.indexOf(symbol)) % 4 === phase
            const isFirst = isAbsent && !absentOnce.has(`${symbol} ${openTime}`)
            if (isFirst) absentOnce.add(`${symbol} ${openTime}`)
            return !isFirst
          })
        }
      })
      return () => {
        hear()
        mend()
      }
    },
  },
  // When many minutes are open, once for each market: what two answers lack is believed.
  'short candles': {
    minutes: [2, 10],
    begin: ({ exchanges, ingesters, world }, pick) => {
      const length = pick.between(1, 10)
      const { faults } = exchanges.simulator
      const hear = faults.set({ kind: 'silence', exchange: 'upbit' })
      const path = '/v1/candles'
      const admit = faults.set({ kind: 'refuse', exchange: 'upbit', status: 500, on: 'rest', path })
      return () => {
        hear()
        admit()
        const mend = altered(ingesters, ({ absentOnce }) => (url, rows) => {
          const market = /candles.*\bmarket=([\w-]+)/.exec(url)?.[1]
          if (market === undefined || absentOnce.has(market)) return rows
          absentOnce.add(market)
          return rows.slice(0, length)
        })
        world.after(MINUTE_MS, mend)
      }
    },
  },
  'cut socket': {
    minutes: [0.02, 0.1],
    losesFrames: true,
    begin: ({ exchanges }, pick) => {
      const { host } = pick.ingester()
      const isNoticed = pick.of(true, false)
      for (const way of [...exchanges.ways]) if (way.host === host) way.wire.cut(isNoticed)
    },
  },
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
    },
  },
  'lost writes': {
    minutes: [3, 4],
    begin: async ({ redis, world, ingesters, find }, pick) => {
      await redis.save()
      const isCut = pick.of(true, false)
      const lose = async () => {
        const lostAt = world.now
        const hosts = ingesters.map(({ host }) => host)
        const from = Math.max(lostAt - 5 * MINUTE_MS, ...hosts.map(host => host.startedAt + MINUTE_MS))
        const confirmed = await liveMinutes(redis.raw, from)
        await redis.reload()
        // A primary may change behind a connection that stays.
        if (isCut) redis.cut()
        const check = async () => {
          // What an ingester that has ended had written, candles have to bring back.
          const isCalm = (host: Host, i: number) => ingesters[i]?.host === host && host.troubledUntil < lostAt
          if (redis.state.upSince > lostAt || !redis.isWell() || !hosts.every(isCalm)) return
          const kept = await liveMinutes(redis.raw, from)
          for (const each of confirmed)
            if (!kept.has(each)) find(each.slice(0, 19), `not sent again: ${each}`)
        }
        world.after(2 * MINUTE_MS, check)
      }
      world.after(pick.between(100, 20_000), lose)
    },
  },
  // By the first word of its error: what it does not take until somebody mends it, or until it has loaded its data.
  'Redis refuses': {
    minutes: [0.02, 20],
    begin: ({ redis, world }, pick) => {
      redis.state.refusal = pick.of(
        "OOM command not allowed when used memory > 'maxmemory'.",
        'MISCONF Redis is configured to save RDB snapshots, but cannot persist to disk.',
        "READONLY You can't write against a read only replica.",
        'LOADING Redis is loading the dataset in memory',
      )
      return () => Object.assign(redis.state, { refusal: undefined, upSince: world.now })
    },
  },
  'lost replies': {
    minutes: [1, 2],
    begin: ({ redis }, pick) => {
      redis.state.lostReplies = pick.between(1, 4)
    },
  },
  'no library': {
    minutes: [1, 2],
    begin: async ({ redis }) => {
      await redis.flushFunctions()
    },
  },
}
