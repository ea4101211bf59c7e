import type { Exchange, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** Beyond this distance between receive and event time a tick counts as early or late. */
const MAX_LAG_MS: Milliseconds = 2_000

/** A tick from further in the future than this is a broken timestamp and is refused. */
const MAX_FUTURE_MS: Milliseconds = 60_000

/** How many minutes each market remembers: one being taken, one running, one to spare for a late snapshot. */
const MINUTES_KEPT = 3

/** Which way most ticks of a minute were off, when more than half were off by more than {@link MAX_LAG_MS}. */
export type Skew = 'none' | 'early' | 'late'

/**
 * The last tick of every market, minute by minute, so that a snapshot taken shortly after M still finds the last
 * price *before* M. Order and repetition of ticks don't matter. @see docs/architecture.md#samples-and-gaps
 */
export interface LatestTicks {
  /**
   * Takes in a tick.
   * @returns false when the tick was refused because a time in it lies more than a minute in the future
   */
  record(tick: Tick): boolean
  /**
   * The exchange's data broke off at `at`: for minutes after it, prices received until then are no longer known to be
   * the last ones, and count again only when received again.
   */
  lost(exchange: Exchange, at: EpochMs): void
  /** Drops what is known of a market that is no longer subscribed. */
  forget(exchange: Exchange, market: Market): void
  /**
   * The market's last tick with an event time before minute M, or undefined when it is not known for sure.
   * A seed answers only where no frame does.
   */
  before(exchange: Exchange, market: Market, minute: EpochMinute): Tick | undefined
  /** Whether any market of the exchange is known to have traded in the minute that ends at M. */
  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean
  /** Whether most stream ticks received in the minute that ends at M came more than 2 s early or late. */
  skewBefore(exchange: Exchange, minute: EpochMinute): Skew
}

/** An empty {@link LatestTicks}. */
export function createLatestTicks(): LatestTicks {
  return new MinuteByMinute()
}

class MinuteByMinute implements LatestTicks {
  readonly #exchanges: Readonly<Record<Exchange, ExchangeTicks>> = {
    upbit: newExchangeTicks(),
    binance: newExchangeTicks(),
  }

  record(tick: Tick): boolean {
    const exchange = this.#exchanges[tick.exchange]
    if (tick.origin === 'stream') countLag(exchange, tick)
    if (!(Math.max(tick.eventAt, tick.tradedAt ?? tick.eventAt) <= tick.receivedAt + MAX_FUTURE_MS)) {
      // The market has moved on to a price that can't be placed in time: the one known before is no longer its last.
      exchange.markets.delete(tick.market)
      return false
    }
    if (tick.tradedAt !== undefined) markTraded(exchange, minuteOf(tick.tradedAt))
    const { frames, seeds } = ticksOf(exchange, tick.market)
    keepLastOfMinute(tick.origin === 'seed' ? seeds : frames, tick, ({ eventAt }) => eventAt, isNewer)
    return true
  }

  lost(exchange: Exchange, at: EpochMs): void {
    keepLastOfMinute(
      this.#exchanges[exchange].losses,
      at,
      loss => loss,
      (loss, kept) => loss > kept,
    )
  }

  forget(exchange: Exchange, market: Market): void {
    this.#exchanges[exchange].markets.delete(market)
  }

  before(exchange: Exchange, market: Market, minute: EpochMinute): Tick | undefined {
    const { markets, losses } = this.#exchanges[exchange]
    const known = markets.get(market)
    if (known === undefined) return undefined
    const lostAt = losses.findLast(at => at < minuteStart(minute)) ?? Number.POSITIVE_INFINITY
    const frame = lastBefore(known.frames, minute)
    if (frame === undefined && known.frames.length === MINUTES_KEPT) return undefined // may have been forgotten
    if (frame !== undefined && frame.receivedAt > lostAt) return frame
    const seed = lastBefore(known.seeds, minute)
    return seed !== undefined && seed.receivedAt > lostAt ? seed : undefined
  }

  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].tradedMinutes.includes(minute - 1)
  }

  skewBefore(exchange: Exchange, minute: EpochMinute): Skew {
    const lags = this.#exchanges[exchange].lags.find(counts => counts.minute === minute - 1)
    if (lags === undefined) return 'none'
    if (lags.early * 2 > lags.total) return 'early'
    return lags.late * 2 > lags.total ? 'late' : 'none'
  }
}

interface ExchangeTicks {
  readonly markets: Map<Market, MarketTicks>
  /** Ascending; the oldest is -Infinity until so many were recorded that earlier ones are forgotten. */
  readonly losses: EpochMs[]
  tradedMinutes: EpochMinute[]
  lags: LagCounts[]
}

/** Both ascending, one tick per minute. */
interface MarketTicks {
  readonly frames: Tick[]
  readonly seeds: Tick[]
}

/** Counts suffice for "is the median beyond ±2 s", and cost nothing at thousands of ticks a second. */
interface LagCounts {
  readonly minute: EpochMinute
  early: number
  late: number
  total: number
}

function newExchangeTicks(): ExchangeTicks {
  return { markets: new Map(), losses: [Number.NEGATIVE_INFINITY], tradedMinutes: [], lags: [] }
}

function countLag(exchange: ExchangeTicks, { receivedAt, eventAt }: Tick): void {
  const minute = minuteOf(receivedAt)
  let counts = exchange.lags.at(-1)
  if (counts?.minute !== minute) {
    counts = { minute, early: 0, late: 0, total: 0 }
    exchange.lags = [...exchange.lags.filter(kept => kept.minute !== minute).slice(1 - MINUTES_KEPT), counts]
  }
  const lag = receivedAt - eventAt
  counts.total += 1
  if (lag < -MAX_LAG_MS) counts.early += 1
  if (lag > MAX_LAG_MS) counts.late += 1
}

function markTraded(exchange: ExchangeTicks, minute: EpochMinute): void {
  if (exchange.tradedMinutes.includes(minute)) return
  exchange.tradedMinutes = [...exchange.tradedMinutes, minute].sort((a, b) => a - b).slice(-MINUTES_KEPT)
}

function ticksOf(exchange: ExchangeTicks, market: Market): MarketTicks {
  const known = exchange.markets.get(market) ?? { frames: [], seeds: [] }
  exchange.markets.set(market, known)
  return known
}

function lastBefore(ticks: readonly Tick[], minute: EpochMinute): Tick | undefined {
  return ticks.findLast(tick => minuteOf(tick.eventAt) < minute)
}

/** Later by the exchange's clock; by ours when the exchange's is equal, as when a frame is sent again. */
function isNewer(tick: Tick, kept: Tick): boolean {
  return tick.eventAt === kept.eventAt ? tick.receivedAt >= kept.receivedAt : tick.eventAt > kept.eventAt
}

/** Keeps `list` ascending, one item per minute, the newest {@link MINUTES_KEPT} of them. */
function keepLastOfMinute<T>(
  list: T[],
  item: T,
  timeOf: (item: T) => EpochMs,
  wins: (item: T, kept: T) => boolean,
): void {
  const minute = minuteOf(timeOf(item))
  const index = list.findLastIndex(kept => minuteOf(timeOf(kept)) <= minute)
  const kept = list[index]
  if (kept !== undefined && minuteOf(timeOf(kept)) === minute) {
    if (wins(item, kept)) list[index] = item
    return
  }
  list.splice(index + 1, 0, item)
  if (list.length > MINUTES_KEPT) list.shift()
}
