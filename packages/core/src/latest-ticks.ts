import type { Leg } from './sample-or-gap.ts'
import { createSkewMeter, MAX_LAG_MS, type Skew, type SkewMeter } from './skew.ts'
import type { Exchange, Interruption, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/**
 * How far a frame may be overtaken by later ones, so how far a stream must have got beyond M before nothing
 * that belongs before M is under way. Upbit: trades came up to 1.55 s out of order,
 * docs/exchanges.md#upbit-websocket. Binance: each market is updated once a second.
 */
const DISORDER_MS: Readonly<Record<Exchange, Milliseconds>> = { upbit: 1_600, binance: 1_000 }

/** A tick from further in the future than this is a broken timestamp and is refused. */
const MAX_FUTURE_MS: Milliseconds = 60_000

/** How many minutes each market remembers: one being taken, one running, one to spare. */
const MINUTES_KEPT = 3

/** More than can happen in the seconds between M and its snapshot. */
const INTERRUPTIONS_KEPT = 8

/**
 * The last tick of every market, minute by minute, so that a snapshot taken shortly after M still finds the
 * last price *before* M. Order and repetition of ticks don't matter.
 * @see docs/architecture.md#samples-and-gaps
 */
export interface LatestTicks {
  /**
   * Takes in a tick.
   * @returns false when the tick was refused because a time in it lies more than a minute in the future
   */
  record(tick: Tick): boolean
  /**
   * Takes in that frames may have been lost, once that is over. While it lasts there is nothing to say:
   * without frames no stream passes M.
   */
  interrupted(interruption: Interruption): void
  /** Takes in what an exchange says about a market without a tick. */
  setTradable(exchange: Exchange, market: Market, tradable: boolean): void
  /** Drops what is known of a market that is no longer subscribed. */
  forget(exchange: Exchange, market: Market): void
  /**
   * What is known of a market just before minute M. Its price is the last one with an event time before M, or
   * undefined when frames may be missing. A seed answers only where no frame does.
   */
  legBefore(exchange: Exchange, market: Market, minute: EpochMinute): Leg
  /**
   * Whether the exchange's stream has got so far that every frame that belongs before M has come, if none was
   * lost.
   */
  hasPassed(exchange: Exchange, minute: EpochMinute): boolean
  /** Whether M lies within an interruption that is over. */
  isInterruptedAt(exchange: Exchange, minute: EpochMinute): boolean
  /** Whether any market of the exchange is known to have traded in the minute that ends at M. */
  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean
  /** Whether most stream ticks received in the minute that ends at M came more than 2 s early or late. */
  skewBefore(exchange: Exchange, minute: EpochMinute): Skew
  status(exchange: Exchange): LatestTicksStatus
}

/** What is known of one exchange. */
export interface LatestTicksStatus {
  /** The newest event time of its stream; undefined before the first frame. */
  readonly watermark: EpochMs | undefined
  /** Markets that the exchange says are not trading now. */
  readonly halted: readonly Market[]
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
    const { origin, eventAt, sentAt, receivedAt, tradedAt } = tick
    const isStream = origin === 'stream'
    if (isStream && sentAt !== undefined) exchange.skew.add(receivedAt, sentAt)
    const market = ticksOf(exchange, tick.market)
    if (!(eventAt <= receivedAt + MAX_FUTURE_MS && (tradedAt ?? eventAt) <= receivedAt + MAX_FUTURE_MS)) {
      // The market has moved on to a price that can't be placed in time: the one known before is no longer
      // its last.
      market.frames.length = 0
      market.seeds.length = 0
      return false
    }
    // A single wrong time must not carry the stream past minutes that it has not reached.
    if (isStream && eventAt > exchange.watermark && eventAt <= receivedAt + MAX_LAG_MS) {
      exchange.watermark = eventAt
    }
    if (tradedAt !== undefined) {
      keepLastOfMinute(market.trades, tradedAt, identity, isLater)
      if (isStream) markTraded(exchange, minuteOf(tradedAt))
    }
    if (tick.tradable !== undefined) market.tradable = tick.tradable
    if (!isStream && receivedAt >= (market.told?.receivedAt ?? receivedAt)) market.told = tick
    keepLastOfMinute(origin === 'seed' ? market.seeds : market.frames, tick, eventTime, isNewer)
    return true
  }

  interrupted({ exchange: name, ...interruption }: Interruption): void {
    const exchange = this.#exchanges[name]
    // They are reported in order: one that seems to lie ahead is from before the wall clock stepped back.
    const past = exchange.interruptions.filter(({ to }) => to <= interruption.to)
    exchange.interruptions = [...past, interruption].slice(-INTERRUPTIONS_KEPT)
    exchange.pricesFrom = interruption.pricesFrom
  }

  setTradable(exchange: Exchange, market: Market, tradable: boolean): void {
    ticksOf(this.#exchanges[exchange], market).tradable = tradable
  }

  forget(exchange: Exchange, market: Market): void {
    this.#exchanges[exchange].markets.delete(market)
  }

  legBefore(name: Exchange, market: Market, minute: EpochMinute): Leg {
    const exchange = this.#exchanges[name]
    const known = exchange.markets.get(market)
    if (known === undefined) return UNKNOWN
    const { pricesFrom } = exchange
    const disorderMs = DISORDER_MS[name]
    const frame = frameBefore(known, minute, pricesFrom, disorderMs)
    return {
      price: (frame ?? seedBefore(known, minute, pricesFrom, disorderMs))?.price,
      tradedAt: known.trades.findLast(at => at < minuteStart(minute)),
      tradable: known.tradable,
    }
  }

  hasPassed(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].watermark >= minuteStart(minute) + DISORDER_MS[exchange]
  }

  isInterruptedAt(exchange: Exchange, minute: EpochMinute): boolean {
    const at = minuteStart(minute)
    return this.#exchanges[exchange].interruptions.some(({ from, to }) => from < at && at < to)
  }

  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].tradedMinutes.includes(minute - 1)
  }

  skewBefore(exchange: Exchange, minute: EpochMinute): Skew {
    return this.#exchanges[exchange].skew.before(minute)
  }

  status(name: Exchange): LatestTicksStatus {
    const { watermark, markets } = this.#exchanges[name]
    return {
      watermark: Number.isFinite(watermark) ? watermark : undefined,
      halted: [...markets].filter(([, { tradable }]) => !tradable).map(([market]) => market),
    }
  }
}

interface ExchangeTicks {
  readonly markets: Map<Market, MarketTicks>
  readonly skew: SkewMeter
  /** The newest event time of the stream. */
  watermark: EpochMs
  /** Prices received before this may have been followed by others that were lost. */
  pricesFrom: EpochMs
  interruptions: Omit<Interruption, 'exchange'>[]
  tradedMinutes: EpochMinute[]
}

/** The lists are ascending, one item per minute. */
interface MarketTicks {
  readonly frames: Tick[]
  readonly seeds: Tick[]
  readonly trades: EpochMs[]
  /** The last snapshot or seed, in which the exchange itself says which trade is the last. */
  told: Tick | undefined
  tradable: boolean
}

const UNKNOWN: Leg = { price: undefined, tradedAt: undefined, tradable: true }

function newExchangeTicks(): ExchangeTicks {
  return {
    markets: new Map(),
    skew: createSkewMeter(),
    watermark: Number.NEGATIVE_INFINITY,
    pricesFrom: Number.NEGATIVE_INFINITY,
    interruptions: [],
    tradedMinutes: [],
  }
}

function ticksOf(exchange: ExchangeTicks, market: Market): MarketTicks {
  const known = exchange.markets.get(market)
  if (known !== undefined) return known
  const fresh = {
    frames: [],
    seeds: [],
    trades: [],
    told: undefined,
    tradable: true,
  }
  exchange.markets.set(market, fresh)
  return fresh
}

function markTraded(exchange: ExchangeTicks, minute: EpochMinute): void {
  if (exchange.tradedMinutes.includes(minute)) return
  exchange.tradedMinutes = [...exchange.tradedMinutes, minute].sort((a, b) => a - b).slice(-MINUTES_KEPT)
}

/**
 * The last frame before M, unless a later one may have been lost. It must have come after the stream was
 * whole again; and because frames overtake each other, either some time after that, or with the exchange
 * having said which trade is the last.
 */
function frameBefore(
  { frames, told }: MarketTicks,
  minute: EpochMinute,
  from: EpochMs,
  disorderMs: Milliseconds,
): Tick | undefined {
  const frame = lastBefore(frames, minute)
  if (frame === undefined || frame.receivedAt < from) return undefined
  const isTold = told !== undefined && told.receivedAt >= from && told.eventAt < minuteStart(minute)
  return isTold || frame.receivedAt >= from + disorderMs ? frame : undefined
}

/**
 * The last seed before M. It must be so old that a trade it knows of led to a frame before M too: frames come
 * with a delay, and the last one before M is what a sample is made of.
 */
function seedBefore(
  { frames, seeds }: MarketTicks,
  minute: EpochMinute,
  from: EpochMs,
  disorderMs: Milliseconds,
): Tick | undefined {
  const seed = lastBefore(seeds, minute)
  if (seed === undefined || seed.receivedAt < from) return undefined
  if (seed.receivedAt > minuteStart(minute) - disorderMs) return undefined
  const mayBeForgotten = lastBefore(frames, minute) === undefined && frames.length === MINUTES_KEPT
  return mayBeForgotten ? undefined : seed
}

function lastBefore(ticks: readonly Tick[], minute: EpochMinute): Tick | undefined {
  return ticks.findLast(tick => minuteOf(tick.eventAt) < minute)
}

function identity(at: EpochMs): EpochMs {
  return at
}

function isLater(at: EpochMs, kept: EpochMs): boolean {
  return at > kept
}

function eventTime(tick: Tick): EpochMs {
  return tick.eventAt
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
  const newest = list.at(-1)
  // Nearly every tick belongs to the newest minute, so that nothing is searched.
  if (newest !== undefined && minuteOf(timeOf(newest)) === minute) {
    if (wins(item, newest)) list[list.length - 1] = item
    return
  }
  const index = list.findLastIndex(kept => minuteOf(timeOf(kept)) <= minute)
  const kept = list[index]
  if (kept !== undefined && minuteOf(timeOf(kept)) === minute) {
    if (wins(item, kept)) list[index] = item
    return
  }
  list.splice(index + 1, 0, item)
  if (list.length > MINUTES_KEPT) list.shift()
}
