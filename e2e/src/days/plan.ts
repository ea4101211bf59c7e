import { DAY_MINUTES, DAY_MS, type EpochMs, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { Draws } from '../seeded-random.ts'
import { EXCHANGE_KINDS } from './kinds/exchange.ts'
import { HOST_KINDS } from './kinds/host.ts'
import { type DayParts, type Kind, type Kinds, market, type Pick } from './kinds/kind.ts'
import { NETWORK_KINDS } from './kinds/network.ts'
import { REDIS_KINDS } from './kinds/redis.ts'
import type { Demand } from './oracle.ts'
import { COINS } from './service.ts'
import { createSpans, type Span } from './spans.ts'

/** All kinds, in the order in which a day draws them. */
export const KINDS: Kinds = { ...EXCHANGE_KINDS, ...NETWORK_KINDS, ...HOST_KINDS, ...REDIS_KINDS }

/** Each day ends without faults for an hour, a shorter run for a fourth of it: what can be known is to be stored by then. */
const QUIET_MINUTES = 60

/** Minutes after a fault's end by which nothing that can be known is missing: docs/faults.md, 112. */
const WHOLE_WITHIN = 5

/** Minutes after a fault's end from which each one is live: feeds recover within 120 s. */
const LIVE_WITHIN = 3

/** The lists are read once an hour, and a pair that nobody has published is compared in the next minute. */
const TRACKED_WITHIN_MS = 70 * MINUTE_MS

/** How long after its end a minute may be decided. */
const DECIDED_WITHIN_MS = 5_000

/** An ingester lives as long as a run of days, which compares what is held. */
const ENDS_OF_INGESTERS = ['restart', 'kill']

/** Coins in which a minute may pass without a trade. */
const QUIET_COINS = ['AVAX', 'KNC']

/**
 * Draws the faults of a day from its seed, some at a time, and has them begin and end.
 * @param kinds those that come. @default drawn
 */
export function planDay(parts: DayParts, draws: Draws, minutes: number, kinds?: readonly string[]) {
  const { world, ingesters, note } = parts
  const quietMs = Math.min(QUIET_MINUTES, minutes / 4) * MINUTE_MS
  const spans = createSpans(world, parts.exchanges.simulator.prices)
  /** Until when an ingester, a coin or all of the service may lose live minutes. */
  const troubledUntil = new Map([['all', world.now + WHOLE_WITHIN * MINUTE_MS]])
  const trouble = (of: string, forMs: Milliseconds) =>
    troubledUntil.set(of, Math.max(troubledUntil.get(of) ?? 0, world.now + forMs))
  const troubledAt = (of: string) => troubledUntil.get(of) ?? 0
  const isTroubled = (of: string) => troubledAt(of) > world.now
  /**
   * @param hit takes the coins and ingesters that are drawn
   * @param drawn takes all that is drawn
   */
  const pickInto = (hit: Set<string>, drawn: unknown[], forMs: Milliseconds): Pick => {
    const span = (what: Span['what'], of: string, sinceMs = 0, moreMs = 0, leavesWithin?: number) => {
      spans.add({ what, of, from: world.now - sinceMs, to: world.now + forMs + moreMs, leavesWithin })
      return of
    }
    const say = <T>(value: T): T => {
      drawn.push(value)
      return value
    }
    const coinOf = (coins: readonly string[]) => {
      const coin = draws.of(coins)
      hit.add(coin)
      return say(coin)
    }
    const pick: Pick = {
      between: (from, to) => say(draws.between(from, to)),
      of: (...choices) => say(draws.of(choices)),
      coin: (...coins) => coinOf(coins.length > 0 ? coins : [draws.of(COINS), draws.of(QUIET_COINS)]),
      halting: (exchange, leavesWithin) => {
        const of = market(exchange, pick.coin(draws.of(COINS.slice(1)), draws.of(QUIET_COINS)))
        return span('halt', of, DECIDED_WITHIN_MS, 0, leavesWithin)
      },
      relisting: exchange => span('relisting', pick.halting(exchange, 4), 0, TRACKED_WITHIN_MS),
      maybeHalting: coin => span('halt', market('binance', coin), DECIDED_WITHIN_MS),
      lacking: (what, exchange) => span(what, exchange, MINUTE_MS),
      losingLive: () => trouble('all', WHOLE_WITHIN * MINUTE_MS),
      unseen: exchange => {
        const of = market(exchange, pick.coin(...COINS.slice(1, 4)))
        // A market of which two renewals bring nothing doesn't trade, for all that Upbit says.
        if (exchange === 'upbit') span('halt', of)
        return span('loss', of)
      },
      exchange: () => pick.of('upbit', 'binance'),
      ingester: () => {
        const ingester = draws.of(ingesters)
        hit.add(say(ingester.host.name))
        return ingester
      },
      host: replica => (pick.of(true, false) ? pick.ingester().host : replica),
    }
    return pick
  }
  const startAt = world.now
  const until = startAt + minutes * MINUTE_MS - quietMs
  const isInQuiet = (forMs: Milliseconds) =>
    world.now + forMs > until || ((world.now - startAt) % DAY_MS) + forMs > DAY_MS - quietMs
  const mayCome = (name: string) => minutes <= DAY_MINUTES || !ENDS_OF_INGESTERS.includes(name)
  const active = new Set<string>()
  /** The faults since all was well, or none; `to` is the end of the last one. */
  let episode = { from: world.now, to: world.now, kinds: ['start'] }
  const beginOne = async (name: string): Promise<void> => {
    const { minutes: range, sparesLive = false, wholeWithin = LIVE_WITHIN, begin } = KINDS[name] as Kind
    const [least, most] = range.map(Math.log) as [number, number]
    const forMs = Math.ceil(Math.exp(least + draws.next() * (most - least)) * MINUTE_MS)
    // Two of a kind would be another fault: what two answers lack is halted.
    if (isInQuiet(forMs) || active.has(name) || !mayCome(name)) return
    active.add(name)
    episode.kinds.push(name)
    const hit = new Set<string>()
    const drawn: unknown[] = []
    const beginning = begin(parts, pickInto(hit, drawn, forMs), forMs)
    note(`${name} begins: ${drawn.join(', ')}`)
    const end = await beginning
    for (const of of sparesLive ? [] : hit.size > 0 ? hit : ['all'])
      trouble(of, forMs + wholeWithin * MINUTE_MS)
    world.after(forMs, () => {
      note(`${name} ends`)
      active.delete(name)
      episode.to = world.now
      return end?.()
    })
  }
  // A day has kinds of its own, which meet often: of all kinds, each would come less than once.
  const shuffled = Object.keys(KINDS).map(name => [draws.next(), name] as const)
  const drawn = shuffled.sort(([a], [b]) => a - b).slice(0, draws.of([4, 8, 16, shuffled.length]))
  const names = kinds ?? drawn.map(([, name]) => name)
  const meanMinutes = draws.of([4, 9, 18])
  const meet = (): void => {
    if (world.now >= until) return
    for (let count = draws.between(1, 4); count > 0; count--) {
      const name = draws.of(names)
      // What loses frames begins just before a minute ends, half of the others before it or just after.
      const at = world.now + draws.between(0, 90_000)
      const turn = Math.ceil(at / MINUTE_MS) * MINUTE_MS
      const near = [turn + draws.between(-1_000, 0), draws.of([at, turn + draws.between(-4_000, 6_000)])]
      world.at(near[KINDS[name]?.losesFrames ? 0 : 1] as EpochMs, () => beginOne(name))
    }
    world.after(draws.between(1, 2 * meanMinutes) * MINUTE_MS, meet)
  }
  // docs/exchanges.md#upbit-websocket
  parts.exchanges.simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550, share: 0.2 })
  // A coin that is listed only later, for ingesters that track all.
  if (parts.isAll) world.after(0, () => beginOne('delisting'))
  world.after(draws.between(0, 10) * MINUTE_MS, meet)
  // What keeps an ingester from the lists, or a new pair from a live premium, begins that again: nothing of it is
  // stored before it was compared.
  const isNew = (symbol: string) =>
    (parts.isAll || QUIET_COINS.includes(symbol)) &&
    !parts.hasListed(symbol) &&
    (active.size > 0 || world.now < episode.to + TRACKED_WITHIN_MS)
  /** Whether a coin may lack a minute, without a fault that lasts then. */
  const mayLack = (symbol: string, at: EpochMs) => spans.mayLack(symbol, at) || isNew(symbol)
  const isSafe = (symbol: string) =>
    !isTroubled('all') && !isTroubled(symbol) && ingesters.some(({ host }) => !isTroubled(host.name))
  return {
    halted: mayLack,
    /** What is demanded of a coin's row of the minute that is just over. */
    demandOf: (symbol: string, isHeard: boolean): Demand => {
      const calmAt = Math.max(...['all', ...ingesters.map(({ host }) => host.name)].map(troubledAt))
      if (spans.hasLeft(symbol, calmAt)) return 'unlisted'
      if (mayLack(symbol, Math.floor(world.now / MINUTE_MS) * MINUTE_MS) || !isSafe(symbol)) return undefined
      return isHeard ? 'live' : 'listed'
    },
    unseen: spans.isLost,
    /** The faults that are over, where none is active. */
    past: () => (active.size === 0 && episode.kinds.length > 0 ? episode : undefined),
    wholeWithin: () => Math.max(...episode.kinds.map(kind => KINDS[kind]?.wholeWithin ?? WHOLE_WITHIN)),
    /** Nothing that can be known is missing any more. */
    recovered: () => {
      episode = { ...episode, from: world.now, kinds: [] }
    },
  }
}
