import type { Exchange, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** Beyond this distance between receive and event time a tick counts as early or late. @see design §3, clock skew */
export const MAX_LAG_MS: Milliseconds = 2_000

/** A tick from further in the future than this is a broken timestamp and is refused. */
const MAX_FUTURE_MS: Milliseconds = 60_000

/** How many minutes each market remembers: one being taken, one running, one to spare for a late snapshot. */
const MINUTES_KEPT = 3

/** Which way most ticks of a minute were off, when more than half were off by more than {@link MAX_LAG_MS}. */
export type Skew = 'none' | 'early' | 'late'

/**
 * The last tick of every market, minute by minute, so that a snapshot taken shortly after M still finds the last
 * price *before* M. Order and repetition of ticks don't matter. @see design §3
 */
export class LatestTicks {
  readonly #venues: Readonly<Record<Exchange, Venue>> = { upbit: newVenue(), binance: newVenue() }

  /**
   * Takes in a tick.
   * @returns false when the tick was refused because its event time lies more than a minute in the future
   */
  record(tick: Tick): boolean {
    const venue = this.#venues[tick.exchange]
    if (tick.origin === 'stream') countLag(venue, tick)
    if (tick.eventAt > tick.receivedAt + MAX_FUTURE_MS) return false
    if (tick.tradedAt !== undefined) markTraded(venue, minuteOf(tick.tradedAt))
    const ticks = venue.markets.get(tick.market)
    if (ticks === undefined) venue.markets.set(tick.market, [tick])
    else if (tick.origin !== 'seed' || !hasFrame(ticks, venue.lostAt)) insert(ticks, tick, venue.lostAt)
    return true
  }

  /**
   * The exchange's data broke off at `at`: for minutes after it, prices received until then are no longer known to be
   * the last ones, and count again only when received anew.
   */
  lost(exchange: Exchange, at: EpochMs): void {
    const venue = this.#venues[exchange]
    venue.lostAt = Math.max(venue.lostAt, at)
  }

  /** Drops what is known of a market that is no longer subscribed. */
  forget(exchange: Exchange, market: Market): void {
    this.#venues[exchange].markets.delete(market)
  }

  /** The market's last tick with an event time before minute M, or undefined when it is not known for sure. */
  before(exchange: Exchange, market: Market, minute: EpochMinute): Tick | undefined {
    const { markets, lostAt } = this.#venues[exchange]
    const tick = markets.get(market)?.findLast(candidate => minuteOf(candidate.eventAt) < minute)
    if (tick === undefined) return undefined
    return tick.receivedAt > lostAt || minuteStart(minute) <= lostAt ? tick : undefined
  }

  /** Whether any market of the exchange is known to have traded in the minute that ends at M. */
  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#venues[exchange].tradedMinutes.includes(minute - 1)
  }

  /** Whether most stream ticks received in the minute that ends at M came more than 2 s early or late. */
  skewBefore(exchange: Exchange, minute: EpochMinute): Skew {
    const lags = this.#venues[exchange].lags.find(counts => counts.minute === minute - 1)
    if (lags === undefined) return 'none'
    if (lags.early * 2 > lags.total) return 'early'
    return lags.late * 2 > lags.total ? 'late' : 'none'
  }
}

interface Venue {
  readonly markets: Map<Market, Tick[]>
  lostAt: EpochMs
  tradedMinutes: EpochMinute[]
  lags: LagCounts[]
}

/** Counts suffice for "is the median beyond ±2 s", and cost nothing at thousands of ticks a second. */
interface LagCounts {
  readonly minute: EpochMinute
  early: number
  late: number
  total: number
}

function newVenue(): Venue {
  return { markets: new Map(), lostAt: Number.NEGATIVE_INFINITY, tradedMinutes: [], lags: [] }
}

function countLag(venue: Venue, { receivedAt, eventAt }: Tick): void {
  const minute = minuteOf(receivedAt)
  let counts = venue.lags.at(-1)
  if (counts?.minute !== minute) {
    counts = { minute, early: 0, late: 0, total: 0 }
    venue.lags = [...venue.lags.filter(kept => kept.minute !== minute).slice(1 - MINUTES_KEPT), counts]
  }
  const lag = receivedAt - eventAt
  counts.total += 1
  if (lag < -MAX_LAG_MS) counts.early += 1
  if (lag > MAX_LAG_MS) counts.late += 1
}

function markTraded(venue: Venue, minute: EpochMinute): void {
  if (venue.tradedMinutes.includes(minute)) return
  venue.tradedMinutes = [...venue.tradedMinutes, minute].sort((a, b) => a - b).slice(-MINUTES_KEPT)
}

function hasFrame(ticks: readonly Tick[], lostAt: EpochMs): boolean {
  return ticks.some(tick => tick.origin !== 'seed' && tick.receivedAt > lostAt)
}

/** Keeps `ticks` ascending, one per minute: the last by event time, the later received when equal. */
function insert(ticks: Tick[], tick: Tick, lostAt: EpochMs): void {
  const minute = minuteOf(tick.eventAt)
  const at = ticks.findLastIndex(kept => minuteOf(kept.eventAt) <= minute)
  const kept = ticks[at]
  if (kept !== undefined && minuteOf(kept.eventAt) === minute) {
    if (supersedes(tick, kept, lostAt)) ticks[at] = tick
    return
  }
  ticks.splice(at + 1, 0, tick)
  if (ticks.length > MINUTES_KEPT) ticks.shift()
}

function supersedes(tick: Tick, kept: Tick, lostAt: EpochMs): boolean {
  const keptIsSeed = kept.origin === 'seed' && tick.origin !== 'seed'
  const keptIsFromBeforeALoss = tick.origin === 'seed' && kept.receivedAt <= lostAt
  return keptIsSeed || keptIsFromBeforeALoss || tick.eventAt >= kept.eventAt
}
