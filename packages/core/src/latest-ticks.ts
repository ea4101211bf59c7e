import type { Leg } from './sample-or-gap.ts'
import { MAX_LAG_MS, type Skew, SkewMeter } from './skew.ts'
import type { Exchange, Interruption, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/**
 * How far later frames may overtake a frame, so how far beyond M a stream must have come before nothing that
 * belongs before M is under way. Upbit: trades came up to 1.55 s out of order,
 * docs/exchanges.md#upbit-websocket. Binance: it updates each market once a second.
 */
const DISORDER_MS: Readonly<Record<Exchange, Milliseconds>> = { upbit: 1_600, binance: 1_000 }

/** {@link LatestTicks} refuses a tick from further in the future: its timestamp is broken. */
const MAX_FUTURE_MS: Milliseconds = 60_000

/** What lies this far ahead of a tick just received was received before our wall clock stepped back. */
const STEPPED_BACK_MS: Milliseconds = 300_000

/** A trade this long after a status was asked for outranks it; the two clocks differ by less. */
const OUTRANKS_AFTER_MS: Milliseconds = MAX_LAG_MS

/** The minute of the snapshot, the running one, and one that a broken timestamp may claim. */
const TRADED_MINUTES_KEPT = 3

/** More than can happen in the seconds between M and its snapshot. */
const INTERRUPTIONS_KEPT = 8

/** What is known of one exchange. */
export interface LatestTicksStatus {
  /** The newest event time of its stream; undefined before the first frame. */
  readonly watermark: EpochMs | undefined
  /** Markets that do not trade now, as the exchange says. */
  readonly halted: readonly Market[]
}

/**
 * The last tick of every market in the running minute and before it, so that a snapshot taken shortly after M
 * still finds the last price *before* M. Order and repetition of ticks don't matter.
 * @see docs/architecture.md#samples-and-gaps
 */
export class LatestTicks {
  readonly #exchanges: Readonly<Record<Exchange, ExchangeTicks>> = {
    upbit: newExchangeTicks(),
    binance: newExchangeTicks(),
  }

  /**
   * Records a tick.
   * @returns false for a tick that is refused because a time in it lies more than a minute in the future
   */
  record(tick: Tick): boolean {
    const exchange = this.#exchanges[tick.exchange]
    const { origin, eventAt, sentAt, receivedAt, tradedAt } = tick
    const isStream = origin === 'stream'
    if (isStream && sentAt !== undefined) exchange.skew.add(receivedAt, sentAt)
    const market = ticksOf(exchange, tick.market)
    for (const kept of [market.frames, market.seeds, market.trades])
      kept.forgetAfter(receivedAt + STEPPED_BACK_MS)
    if (!(eventAt <= receivedAt + MAX_FUTURE_MS && (tradedAt ?? eventAt) <= receivedAt + MAX_FUTURE_MS)) {
      // The market has moved on to a price that can't be placed in time, so the price before is not its last.
      market.frames.clear()
      market.seeds.clear()
      return false
    }
    // A single wrong time must not carry the stream past minutes that it has not reached.
    if (isStream && eventAt > exchange.watermark && eventAt <= receivedAt + MAX_LAG_MS) {
      exchange.watermark = eventAt
    }
    if (tradedAt !== undefined) {
      market.trades.add(tradedAt)
      if (isStream) markTraded(exchange, minuteOf(tradedAt))
    }
    if (tick.tradable !== undefined) market.haltedAt = tick.tradable ? undefined : receivedAt
    else if (isStream && outranks(tradedAt, market.haltedAt)) market.haltedAt = undefined
    if (isStream) market.frames.add(tick)
    else {
      const { confirmation } = market
      if (confirmation === undefined || receivedAt >= confirmation.receivedAt) market.confirmation = tick
      if (origin === 'seed') market.seeds.add(tick)
      else market.frames.add(tick)
    }
    return true
  }

  /**
   * Notes that frames may have been lost, once that is over. While it lasts there is nothing to say: without
   * frames no stream passes M.
   */
  interrupted({ exchange: name, ...interruption }: Interruption): void {
    const exchange = this.#exchanges[name]
    // The feed reports them in order: one that seems to lie ahead is from before the wall clock stepped back.
    const past = exchange.interruptions.filter(({ to }) => to <= interruption.to)
    exchange.interruptions = [...past, interruption].slice(-INTERRUPTIONS_KEPT)
    exchange.pricesFrom = interruption.pricesFrom
  }

  /**
   * Notes what an exchange says about a market without a tick. A trade at least 2 s after the exchange was
   * asked outranks a "no".
   * @param askedAt when the exchange was asked
   */
  setTradable(exchange: Exchange, market: Market, tradable: boolean, askedAt: EpochMs): void {
    const ticks = ticksOf(this.#exchanges[exchange], market)
    ticks.haltedAt = tradable || outranks(ticks.trades.last, askedAt) ? undefined : askedAt
  }

  /** Drops what is known of a market that is no longer subscribed. */
  forget(exchange: Exchange, market: Market): void {
    this.#exchanges[exchange].markets.delete(market)
  }

  /**
   * What is known of a market just before minute M. Its price is the last one with an event time before M, or
   * undefined when frames may be missing. A seed answers only where no frame does.
   */
  legBefore(name: Exchange, market: Market, minute: EpochMinute): Leg {
    const exchange = this.#exchanges[name]
    const known = exchange.markets.get(market)
    if (known === undefined) return UNKNOWN
    const { pricesFrom } = exchange
    const disorderMs = DISORDER_MS[name]
    const frame = frameBefore(known, minute, pricesFrom, disorderMs)
    return {
      price: (frame ?? seedBefore(known, minute, pricesFrom, disorderMs))?.price,
      tradedAt: known.trades.before(minute),
      tradable: known.haltedAt === undefined,
    }
  }

  /** Whether the stream has come so far that every frame that belongs before M is here, if none was lost. */
  hasPassed(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].watermark >= minuteStart(minute) + DISORDER_MS[exchange]
  }

  /** Whether M lies within an interruption that is over. */
  isInterruptedAt(exchange: Exchange, minute: EpochMinute): boolean {
    const at = minuteStart(minute)
    return this.#exchanges[exchange].interruptions.some(({ from, to }) => from < at && at < to)
  }

  /** Whether any market of the exchange is known to have traded in the minute that ends at M. */
  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].tradedMinutes.includes(minute - 1)
  }

  /** Whether most stream ticks received in the minute that ends at M came more than 2 s early or late. */
  skewBefore(exchange: Exchange, minute: EpochMinute): Skew {
    return this.#exchanges[exchange].skew.before(minute)
  }

  status(name: Exchange): LatestTicksStatus {
    const { watermark, markets } = this.#exchanges[name]
    return {
      watermark: Number.isFinite(watermark) ? watermark : undefined,
      halted: [...markets].filter(([, { haltedAt }]) => haltedAt !== undefined).map(([market]) => market),
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

interface MarketTicks {
  readonly frames: LastOfMinute<Tick>
  readonly seeds: LastOfMinute<Tick>
  readonly trades: LastOfMinute<EpochMs>
  /** The last snapshot or seed, in which the exchange itself says which trade is the last. */
  confirmation: Tick | undefined
  /** When the exchange was asked for the status that says "not trading"; undefined while it trades. */
  haltedAt: EpochMs | undefined
}

/** The last item of the newest minute, and the last item of the newest minute before that one. */
class LastOfMinute<T> {
  readonly #timeOf: (item: T) => EpochMs
  readonly #isNewer: (item: T, kept: T) => boolean
  #newest: T | undefined
  #previous: T | undefined

  constructor(timeOf: (item: T) => EpochMs, isNewer: (item: T, kept: T) => boolean) {
    this.#timeOf = timeOf
    this.#isNewer = isNewer
  }

  get last(): T | undefined {
    return this.#newest
  }

  /** Whether an item of an older minute may have been dropped. */
  get isFull(): boolean {
    return this.#previous !== undefined
  }

  add(item: T): void {
    const ahead = this.#minutesAhead(item, this.#newest)
    if (ahead > 0) {
      this.#previous = this.#newest
      this.#newest = item
    } else if (ahead === 0) this.#newest = this.#later(item, this.#newest)
    else {
      const overPrevious = this.#minutesAhead(item, this.#previous)
      if (overPrevious > 0) this.#previous = item
      else if (overPrevious === 0) this.#previous = this.#later(item, this.#previous)
    }
  }

  /** The last item with a time before minute M. */
  before(minute: EpochMinute): T | undefined {
    return [this.#newest, this.#previous].find(
      item => item !== undefined && minuteOf(this.#timeOf(item)) < minute,
    )
  }

  forgetAfter(at: EpochMs): void {
    while (this.#newest !== undefined && this.#timeOf(this.#newest) > at) {
      this.#newest = this.#previous
      this.#previous = undefined
    }
  }

  clear(): void {
    this.#newest = undefined
    this.#previous = undefined
  }

  #minutesAhead(item: T, kept: T | undefined): number {
    return kept === undefined ? 1 : minuteOf(this.#timeOf(item)) - minuteOf(this.#timeOf(kept))
  }

  #later(item: T, kept: T | undefined): T {
    return kept === undefined || this.#isNewer(item, kept) ? item : kept
  }
}

const UNKNOWN: Leg = { price: undefined, tradedAt: undefined, tradable: true }

function newExchangeTicks(): ExchangeTicks {
  return {
    markets: new Map(),
    skew: new SkewMeter(),
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
    frames: new LastOfMinute(eventTime, isNewerTick),
    seeds: new LastOfMinute(eventTime, isNewerTick),
    trades: new LastOfMinute<EpochMs>(
      at => at,
      (at, kept) => at > kept,
    ),
    confirmation: undefined,
    haltedAt: undefined,
  }
  exchange.markets.set(market, fresh)
  return fresh
}

function markTraded(exchange: ExchangeTicks, minute: EpochMinute): void {
  if (exchange.tradedMinutes.includes(minute)) return
  exchange.tradedMinutes = [...exchange.tradedMinutes, minute]
    .sort((a, b) => a - b)
    .slice(-TRADED_MINUTES_KEPT)
}

function outranks(tradedAt: EpochMs | undefined, askedAt: EpochMs | undefined): boolean {
  return tradedAt !== undefined && askedAt !== undefined && tradedAt >= askedAt + OUTRANKS_AFTER_MS
}

/**
 * The last frame before M, unless a later one may have been lost. It must have come after the stream was
 * whole again; and because frames overtake each other, either some time after that, or after the exchange
 * itself has confirmed which trade is the last.
 */
function frameBefore(
  { frames, confirmation }: MarketTicks,
  minute: EpochMinute,
  from: EpochMs,
  disorderMs: Milliseconds,
): Tick | undefined {
  const frame = frames.before(minute)
  if (frame === undefined || frame.receivedAt < from) return undefined
  const isConfirmed =
    confirmation !== undefined &&
    confirmation.receivedAt >= from &&
    confirmation.eventAt < minuteStart(minute)
  return isConfirmed || frame.receivedAt >= from + disorderMs ? frame : undefined
}

/**
 * The last seed before M. It must be so old that a trade it knows of led to a frame before M too: frames come
 * with a delay, and a sample is made of the last frame before M.
 */
function seedBefore(
  { frames, seeds }: MarketTicks,
  minute: EpochMinute,
  from: EpochMs,
  disorderMs: Milliseconds,
): Tick | undefined {
  const seed = seeds.before(minute)
  if (seed === undefined || seed.receivedAt < from) return undefined
  if (seed.receivedAt > minuteStart(minute) - disorderMs) return undefined
  const mayBeForgotten = frames.before(minute) === undefined && frames.isFull
  return mayBeForgotten ? undefined : seed
}

function eventTime(tick: Tick): EpochMs {
  return tick.eventAt
}

/** Newer by the exchange's clock; by ours when the exchange's is equal, as when it sends a frame again. */
function isNewerTick(tick: Tick, kept: Tick): boolean {
  return tick.eventAt === kept.eventAt ? tick.receivedAt >= kept.receivedAt : tick.eventAt > kept.eventAt
}
