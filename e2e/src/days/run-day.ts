import { DAY_MINUTES, DAY_MS, type EpochMs, type Log, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import { DEFAULT_COINS } from '@kimchi/simulator'
import { grown, grownOverDays, heldBy, heldBytes, type Resources } from '../resources.ts'
import { Draws } from '../seeded-random.ts'
import { Caller } from './caller.ts'
import { openExchanges } from './exchanges.ts'
import { Oracle } from './oracle.ts'
import { planDay } from './plan.ts'
import { openDayRedis, type startDayServer } from './redis.ts'
import { COINS, createIngester, createReplica, type DayReplica, RETENTION_DAYS, warmUp } from './service.ts'
import { World } from './world.ts'

export interface DayOptions {
  readonly seed: number
  /** How long it is. @default 1,440 */
  readonly minutes?: number
  /** When it begins. @default drawn */
  readonly startAt?: EpochMs | undefined
  /** Names of {@link KINDS} that come. @default drawn */
  readonly kinds?: readonly string[] | undefined
  readonly server: Awaited<ReturnType<typeof startDayServer>>
  readonly onEvent?: (event: DayEvent) => void
  /** Hears how many minutes are over. */
  readonly onMinute?: (minute: number) => void
}

/** A fault that begins or ends, or what the service has to say. */
export interface DayEvent {
  readonly at: EpochMs
  readonly what: string
}

/** A month's end, a year's, a leap day, and what lies between. */
const DATES = ['2026-11-30', '2026-12-31', '2028-02-28', '2028-02-29', '2026-11-20', '2026-06-15']

/** Two coins that share a ticker: whoever tracks all coins keeps them off the list. */
const NO_PAIR = [
  { id: 'a', price: 1.4, upbit: { asset: 'AB', koreanName: '에이', englishName: 'A', tradesPerMinute: 9 } },
  { id: 'b', price: 1, follows: 'a', binance: { asset: 'AB', tradesPerMinute: 9 } },
]

/** How often a caller asks for the live list. */
const READ_MS: Milliseconds = 1_000

/** How often a caller asks for something by the routes, about. */
const ASK_MS: Milliseconds = 30_000

/** The newest row that is stored by then is served a second later. */
const STORED_MS: Milliseconds = 3_000

/** By then a minute's live samples are published; a candle is read later. */
const LIVE_WITHIN_MS: Milliseconds = 9_000

/** After this long the first minutes are filled, and what is open stays open. */
const SETTLED_MINUTES = 5

/** With so many findings a day ends. */
export const MOST_FINDINGS = 10

/** The newest events are kept. */
const MAX_EVENTS = 2_000

/** What has not changed for so long is served. */
const SERVED_WITHIN_MS: Milliseconds = 2 * MINUTE_MS

/** The newest minutes are left to what is still under way. */
const LEFT_MINUTES = 6

export type DayReport = Awaited<ReturnType<typeof runDay>>

/** One day of the whole service, which its seed alone decides. */
export async function runDay(options: DayOptions) {
  const { seed, minutes = DAY_MINUTES, server, onEvent = () => {}, onMinute = () => {} } = options
  await warmUp()
  const draws = new Draws(seed, 'plan')
  const drawnAt = Date.parse(draws.of(DATES)) + draws.between(0, DAY_MINUTES * MINUTE_MS)
  const { startAt = drawnAt } = options
  const world = new World(startAt, seed)
  const events: DayEvent[] = []
  const note = (what: string) => {
    const event = { at: world.now, what }
    if (events.push(event) > MAX_EVENTS) events.shift()
    onEvent(event)
  }
  const coins = [...DEFAULT_COINS.filter(({ id }) => [...COINS, 'USDT'].includes(id)), ...NO_PAIR]
  // Where trades are few, an exchange is often silent for seconds.
  const speed = draws.of([1, 0.2])
  const find = (minute: string, what: string) => {
    note(`found: ${what}`)
    oracle.find(minute, what)
  }
  const exchanges = openExchanges(world, { seed: `day ${seed}`, coins, speed }, find)
  const redis = await openDayRedis(world, server)
  const isAll = draws.next() < 0.3
  const others = new Draws(seed, 'callers')
  // Two hide from each other what one loses.
  const ingesters = (others.next() < 0.4 ? ['a'] : ['a', 'b']).map(name =>
    createIngester(name, world, exchanges, redis, isAll, logOf(name, note)),
  )
  // One has the true time but for faults, the other never has.
  const replicas = [
    await createReplica('api', world, redis, logOf('api', note), 0),
    await createReplica('api-2', world, redis, logOf('api-2', note), others.between(-9_000, 9_000)),
  ] as const
  const [replica] = replicas
  const hasListed = (symbol: string) => oracle.hasListed(symbol)
  const audit = (symbol: string) => oracle.readStored({ redis: redis.raw, coins: [symbol], from: 0, to: 0 })
  const parts = { world, exchanges, redis, ingesters, replica, isAll, find, note, hasListed, audit }
  const plan = planDay(parts, draws, minutes, options.kinds)
  const firstKept = () => Math.floor(world.now / DAY_MS) - RETENTION_DAYS
  const keptAtFirst = firstKept()
  const expired = (day: number) => keptAtFirst <= day && day < firstKept()
  const oracle: Oracle = new Oracle({ ...exchanges.simulator, ...plan, expired })
  const checkRecovery = async () => {
    const past = plan.past()
    if (past === undefined) return
    const first = Math.floor(Math.max(from, past.from / MINUTE_MS - 2))
    const end = Math.floor(world.now / MINUTE_MS - 2)
    const missing = await oracle.missing(redis.raw, COINS, first, end)
    const took = Math.ceil((world.now - past.to) / MINUTE_MS)
    if (missing.length === 0) {
      note(`whole again after ${took} minutes: ${past.kinds.join(', ')}`)
      plan.recovered()
    } else if (took === plan.wholeWithin() + 1) {
      const [each = ''] = missing
      find(each.slice(0, 19), `missing ${took} minutes after the last fault: ${each}`)
    }
  }
  /** Whether what it serves is as new as what Redis has. */
  const isCalm = ({ host }: DayReplica) =>
    redis.isWell() &&
    Math.max(redis.state.upSince, redis.state.lostAt, host.troubledUntil) < world.now - SERVED_WITHIN_MS
  const hosts = () => [...ingesters, ...replicas].map(({ host }) => host)
  const resources = () => heldBy(exchanges.openSockets(), redis.links, hosts())
  const read = () => {
    for (const each of replicas) oracle.readList(each, world.now, redis.state)
    world.after(READ_MS, read)
  }
  const caller = new Caller(others, isAll, { find, hasListed })
  const ask = () => {
    world.after(others.between(1, 2 * ASK_MS), ask)
    return caller.ask(others.of(replicas))
  }

  const realStart = performance.now()
  for (const ingester of ingesters) await ingester.start()
  read()
  void ask()
  const from = Math.ceil(startAt / MINUTE_MS)
  let atFirst: Resources | undefined
  /** At the end of each whole day. */
  const atDays: Resources[] = []
  const rowsOf = (symbol: string) => redis.raw.hgetall(`{kp}:daily:${symbol}`)
  /** Of the coins that are asked for next: their rows of two minutes before. */
  const before = new Map<string, Awaited<ReturnType<typeof rowsOf>>>()
  for (let minute = 1; minute <= minutes && oracle.findings.length < MOST_FINDINGS; minute++) {
    await world.passTo((from + minute) * MINUTE_MS + STORED_MS)
    const rows = await redis.raw.hvals('{kp}:live')
    await world.passTo(world.now + 1_000)
    oracle.readStoredList(rows, replicas.filter(isCalm))
    await world.passTo((from + minute) * MINUTE_MS + LIVE_WITHIN_MS)
    const isHeard = exchanges.isHeard(from + minute, id => plan.halted(id, world.now))
    const demandOf = (symbol: string) => plan.demandOf(symbol, isHeard)
    for (const { documents } of replicas) oracle.readLive(documents.live(), from + minute, demandOf)
    await world.passTo((from + minute) * MINUTE_MS + 30_000)
    // Each ingester has one connection to each exchange; a fault may have cut it just then.
    if (minute >= SETTLED_MINUTES && ingesters.every(ingester => ingester.isRunning()))
      atFirst ??= { ...resources(), sockets: 2 * ingesters.length }
    onMinute(minute)
    const [asked = '', next = '', soon = ''] = [...COINS, ...COINS].slice((minute - 1) % COINS.length)
    for (const each of replicas) {
      const days = each.documents.history(asked, 7)
      const expected = isCalm(each) ? before.get(asked) : undefined
      if (days) oracle.readDays(days, world.now, await rowsOf(asked), expected)
      void each.documents.load(next)
    }
    before.set(soon, await rowsOf(soon))
    await checkRecovery()
    if (minute % DAY_MINUTES === 0) atDays.push({ ...resources(), bytes: await heldBytes() })
  }
  const atLast = resources()
  const judged = { coins: COINS, from: Math.max(from + SETTLED_MINUTES, firstKept() * DAY_MINUTES) }
  await oracle.readStored({ redis: redis.raw, ...judged, to: from + minutes - LEFT_MINUTES })
  const digest = oracle.digest(String(await redis.raw.call('DEBUG', 'DIGEST')))

  const ending = Promise.all([
    ...ingesters.map(ingester => ingester.end()),
    ...replicas.map(each => each.close()),
  ])
  await world.passTo(world.now + MINUTE_MS)
  await ending
  redis.close()
  const growth = [...grown(atFirst ?? atLast, atLast), ...grownOverDays(atDays), ...grown({}, resources())]
  for (const what of growth) oracle.find('', what)
  return {
    seed,
    digest,
    findings: oracle.findings,
    events,
    atDays,
    counts: { ...oracle.counts, commands: redis.state.commands },
    realMs: performance.now() - realStart,
  }
}

/** A log whose warnings are events. */
function logOf(name: string, note: (what: string) => void): Log {
  const say = (fields: object, message: string) => note(`${name}: ${message} ${JSON.stringify(fields)}`)
  return { debug: () => {}, info: () => {}, warn: say, error: say }
}
