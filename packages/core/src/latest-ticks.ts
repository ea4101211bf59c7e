import type { Leg } from './sample-or-gap.ts'
import { MAX_LAG_MS, SkewMeter } from './skew.ts'
import type { Exchange, Interruption, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/**
 * How far frames may overtake each other. A stream must be this far beyond M before every frame that belongs
 * before M has arrived. Upbit delivered trades up to 1.55 s out of order,
 * docs/exchanges.md#upbit-websocket. Binance updates each market once a second.
 */
const DISORDER_MS: Readonly<Record<Exchange, Milliseconds>> = { upbit: 1_600, binance: 1_000 }

/** A tick dated further in the future than this is refused: its timestamp is broken, or our clock is wrong. */
const MAX_FUTURE_MS: Milliseconds = MAX_LAG_MS

/** A trade this long after a status request outranks its answer: the two clocks differ by less. */
const OUTRANKS_AFTER_MS: Milliseconds = MAX_LAG_MS

/** The minute of the snapshot, the running one, and one that a broken timestamp may claim. */
const TRADED_MINUTES_KEPT = 3

export type LatestTicksStatus = ReturnType<LatestTicks['status']>

/** Where a feed's ticks go, and what it learns besides. Called synchronously; must not throw. */
export type TickSink = Pick<LatestTicks, 'record' | 'interrupted' | 'setTradable' | 'forget'>

/**
 * The last tick of every market in the running minute and before it, so that a snapshot taken shortly after M
 * still finds the last price *before* M. Order and repetition of ticks don't matter.
 * @see docs/architecture.md#samples-and-gaps
 */
export class LatestTicks {
  readonly #exchanges: Record<Exchange, ExchangeTicks> = {
    upbit: new ExchangeTicks(),
    binance: new ExchangeTicks(),
  }
  readonly #refusedTicks: Record<Exchange, number> = { upbit: 0, binance: 0 }
  /** Ends the wait of {@link untilPassed}. */
  #awaited: { readonly minute: EpochMinute; readonly resolve: () => void } | undefined

  /** Refuses a tick of which one of the times is more than 2 s in the future. */
  record(tick: Tick): void {
    const exchange = this.#exchanges[tick.exchange]
    const { origin, eventAt, sentAt, receivedAt, tradedAt, tradable } = tick
    const isStream = origin === 'stream'
    if (isStream && sentAt !== undefined) exchange.skew.add(receivedAt, sentAt)
    const market = exchange.ticksOf(tick.market)
    const limit = receivedAt + MAX_FUTURE_MS
    // Negated, so that NaN is refused too.
    if (!(eventAt <= limit && (tradedAt ?? eventAt) <= limit)) {
      market.forgetPrices()
      this.#refusedTicks[tick.exchange] += 1
      return
    }
    if (isStream && tradedAt !== undefined) exchange.markTraded(minuteOf(tradedAt))
    if (tradable !== undefined) market.haltedAt = tradable ? undefined : receivedAt
    else if (isStream && outranks(tradedAt, market.haltedAt)) market.haltedAt = undefined
    market.add(tick)
    if (isStream && eventAt > exchange.watermark) {
      exchange.watermark = eventAt
      if (this.#awaited !== undefined && this.#havePassed(this.#awaited.minute)) this.#awaited.resolve()
    }
  }

  /**
   * Notes that frames may have been lost. The feed calls it when data flows again: until then the watermark
   * stands still, so no minute counts as complete. After a step back of our clock everything begins anew:
   * times from before it can't be compared with those that follow.
   */
  interrupted({ exchange, pricesFrom, isClockBack }: Interruption): void {
    if (isClockBack) this.#exchanges[exchange] = new ExchangeTicks()
    this.#exchanges[exchange].pricesFrom = pricesFrom
  }

  /**
   * Notes an exchange's answer to a status request. A trade at least 2 s after the request outranks a "no".
   * @param askedAt when we sent the request
   */
  setTradable(exchange: Exchange, market: Market, tradable: boolean, askedAt: EpochMs): void {
    const ticks = this.#exchanges[exchange].ticksOf(market)
    ticks.haltedAt = tradable || outranks(ticks.upToNow.tradedAt, askedAt) ? undefined : askedAt
  }

  /** Drops what is known of a market that is no longer subscribed. */
  forget(exchange: Exchange, market: Market): void {
    this.#exchanges[exchange].markets.delete(market)
  }

  /**
   * What is known of a market just before minute M. Its price is the last one with an event time before M, or
   * undefined when frames may be missing. A seed is used only where no frame is.
   */
  legBefore(exchange: Exchange, market: Market, minute: EpochMinute): Leg {
    const { markets, pricesFrom } = this.#exchanges[exchange]
    const ticks = markets.get(market)
    return {
      price: ticks?.priceBefore(minute, pricesFrom, DISORDER_MS[exchange]),
      tradedAt: ticks?.knownBefore(minute).tradedAt,
      tradable: ticks?.haltedAt === undefined,
    }
  }

  /** Whether the stream has come so far that every frame from before M has arrived, if none was lost. */
  hasPassed(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].watermark >= minuteStart(minute) + DISORDER_MS[exchange]
  }

  /** Resolves when both streams have passed M, if they do before the next call. */
  untilPassed(minute: EpochMinute): Promise<void> {
    if (this.#havePassed(minute)) return Promise.resolve()
    return new Promise(resolve => {
      this.#awaited = { minute, resolve }
    })
  }

  /** Whether any market of the exchange is known to have traded in the minute that ends at M. */
  tradedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].tradedMinutes.includes(minute - 1)
  }

  /** Whether our clock is wrong: most frames received in the minute that ends at M were early, or most were late. */
  skewedBefore(exchange: Exchange, minute: EpochMinute): boolean {
    return this.#exchanges[exchange].skew.skewedBefore(minute)
  }

  status(exchange: Exchange) {
    const { watermark, markets } = this.#exchanges[exchange]
    return {
      /** Ticks refused for their timestamp. */
      refusedTicks: this.#refusedTicks[exchange],
      /** The newest event time of its stream; undefined before the first frame. */
      watermark: Number.isFinite(watermark) ? watermark : undefined,
      /** Markets that the exchange says do not trade now. */
      halted: [...markets].filter(([, { haltedAt }]) => haltedAt !== undefined).map(([market]) => market),
    }
  }

  #havePassed(minute: EpochMinute): boolean {
    return this.hasPassed('upbit', minute) && this.hasPassed('binance', minute)
  }
}

class ExchangeTicks {
  readonly markets = new Map<Market, MarketTicks>()
  readonly skew = new SkewMeter()
  /** The newest event time of the stream. */
  watermark: EpochMs = Number.NEGATIVE_INFINITY
  /** A price received before this may have been superseded by one that was lost. */
  pricesFrom: EpochMs = Number.NEGATIVE_INFINITY
  /** The newest minutes in which a market traded, ascending. */
  tradedMinutes: readonly EpochMinute[] = []

  ticksOf(market: Market): MarketTicks {
    const ticks = this.markets.get(market) ?? new MarketTicks()
    this.markets.set(market, ticks)
    return ticks
  }

  markTraded(minute: EpochMinute): void {
    if (this.tradedMinutes.includes(minute)) return
    this.tradedMinutes = [...this.tradedMinutes, minute].sort((a, b) => a - b).slice(-TRADED_MINUTES_KEPT)
  }
}

/** The last frame, seed and trade of a market up to the end of a minute. */
interface Known {
  /** The newest minute of them all. */
  readonly minute: EpochMinute
  readonly frame?: Tick | undefined
  readonly seed?: Tick | undefined
  readonly tradedAt?: EpochMs | undefined
}

const NOTHING: Known = { minute: Number.NEGATIVE_INFINITY }

class MarketTicks {
  upToNow = NOTHING
  /** What was known before the newest minute began. */
  #before = NOTHING
  /** The last SNAPSHOT, in which the exchange itself names the last trade. */
  #confirmation: Tick | undefined
  /** When the exchange was asked for the status that says "not trading"; undefined while it trades. */
  haltedAt: EpochMs | undefined

  add(tick: Tick): void {
    const minute = minuteOf(tick.eventAt)
    if (minute > this.upToNow.minute) this.#before = this.upToNow
    else if (minute < this.upToNow.minute) this.#before = withTick(this.#before, tick)
    this.upToNow = withTick(this.upToNow, tick)
    if (tick.origin === 'snapshot' && tick.receivedAt >= (this.#confirmation?.receivedAt ?? 0)) {
      this.#confirmation = tick
    }
  }

  /** The market has moved on to a price that can't be placed in time: no known price is its last. */
  forgetPrices(): void {
    this.upToNow = { ...this.upToNow, frame: undefined, seed: undefined }
    this.#before = { ...this.#before, frame: undefined, seed: undefined }
  }

  knownBefore(minute: EpochMinute): Known {
    return this.upToNow.minute < minute ? this.upToNow : this.#before
  }

  /**
   * The last price before M, unless a later one may have been lost. A frame must have come after the stream
   * was whole again (`from`); and because frames overtake each other, some time after that, or after the
   * exchange itself has confirmed which trade was the last. A seed must precede M by the disorder, so that any
   * trade it reflects would also have led to a frame before M.
   */
  priceBefore(minute: EpochMinute, from: EpochMs, disorderMs: Milliseconds): number | undefined {
    const { minute: newest, frame, seed } = this.knownBefore(minute)
    // Two newer minutes have pushed out what was known before M.
    if (newest >= minute) return undefined
    const framesFrom = Math.min(from + disorderMs, this.#confirmedFrom(minute, from, seed))
    if (frame !== undefined && frame.receivedAt >= framesFrom) return frame.price
    const isSeedKnown =
      seed !== undefined && askedAt(seed) >= from && seed.receivedAt <= minuteStart(minute) - disorderMs
    return isSeedKnown ? seed.price : undefined
  }

  /** A SNAPSHOT confirms all frames since `from`; a seed only those that have come since it was asked for. */
  #confirmedFrom(minute: EpochMinute, from: EpochMs, seed: Tick | undefined): EpochMs {
    const snapshot = this.#confirmation
    if (snapshot && snapshot.receivedAt >= from && snapshot.eventAt < minuteStart(minute)) return from
    return seed !== undefined && askedAt(seed) >= from ? askedAt(seed) : Number.POSITIVE_INFINITY
  }
}

/** When a seed was asked for: it may lack whatever was traded since. */
function askedAt({ sentAt, receivedAt }: Tick): EpochMs {
  return sentAt ?? receivedAt
}

function withTick({ minute, frame, seed, tradedAt }: Known, tick: Tick): Known {
  const isSeed = tick.origin === 'seed'
  return {
    minute: Math.max(minute, minuteOf(tick.eventAt)),
    frame: isSeed ? frame : laterOf(tick, frame),
    seed: isSeed ? laterOf(tick, seed) : seed,
    tradedAt: tick.tradedAt === undefined ? tradedAt : Math.max(tick.tradedAt, tradedAt ?? 0),
  }
}

/** The later by the exchange's clock; by ours where the exchange sent the same time twice. */
function laterOf(tick: Tick, known: Tick | undefined): Tick {
  if (known === undefined) return tick
  const laterMs = tick.eventAt - known.eventAt || tick.receivedAt - known.receivedAt
  return laterMs >= 0 ? tick : known
}

function outranks(tradedAt: EpochMs | undefined, askedAt: EpochMs | undefined): boolean {
  return tradedAt !== undefined && askedAt !== undefined && tradedAt >= askedAt + OUTRANKS_AFTER_MS
}
