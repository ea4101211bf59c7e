import { MarketTicks } from './market-ticks.ts'
import type { Leg } from './sample-or-gap.ts'
import { SkewMeter } from './skew.ts'
import type { Exchange, Interruption, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/**
 * How far frames may overtake each other. A stream must be this far beyond M before every frame that belongs
 * before M has arrived. Upbit delivered trades up to 1.55 s out of order,
 * docs/exchanges.md#upbit-websocket. Binance updates each market once a second.
 */
export const DISORDER_MS: Readonly<Record<Exchange, Milliseconds>> = { upbit: 1_600, binance: 1_000 }

/** The minute of the snapshot, the running one, and one that a broken timestamp may claim. */
const TRADED_MINUTES_KEPT = 3

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
  readonly #lateTicks = { upbit: 0, binance: 0 }

  /**
   * Refuses a tick that is dated ahead: its market's price is unknown then. A late frame shows no more than a trade.
   * @returns whether a stream frame was on its way for so long that others may have been lost
   */
  record(tick: Tick): boolean {
    const exchange = this.#exchanges[tick.exchange]
    const { origin, eventAt, sentAt, receivedAt, tradedAt } = tick
    // A SNAPSHOT repeats the past.
    const isStream = origin === 'stream'
    const isLate = isStream && exchange.skew.isLate(receivedAt, sentAt ?? eventAt)
    // A seed has no time of the exchange's.
    const isAhead = origin !== 'seed' && exchange.skew.isAhead(receivedAt, eventAt)
    if (isStream && sentAt !== undefined) exchange.skew.add(receivedAt, sentAt)
    if (isAhead) {
      this.miss(tick.exchange, tick.market, receivedAt)
      return isLate
    }
    if (isStream && tradedAt !== undefined) exchange.markTraded(minuteOf(tradedAt))
    if (isLate) {
      this.#lateTicks[tick.exchange] += 1
      return true
    }
    exchange.ticksOf(tick.market).add(tick)
    if (isStream) exchange.watermark = Math.max(exchange.watermark, eventAt)
    return false
  }

  /** Notes a market's frame that can't be read or placed in time: its price is unknown until something newer comes. */
  miss(exchange: Exchange, market: Market, receivedAt: EpochMs): void {
    this.#exchanges[exchange].ticksOf(market).miss(receivedAt)
  }

  /**
   * Notes that frames received before `pricesFrom` may have been followed by others that were lost. The feed calls
   * it at the first frame after a silence, a step of our clock or a change of connection, at every late frame and the
   * first fresh one after it, and at an unreadable frame of no known market. In a silence the watermark stands still,
   * so no minute counts as complete. After a step back of our clock everything begins anew: times from before it
   * can't be compared with those that follow.
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
    this.#exchanges[exchange].ticksOf(market).setTradable(tradable, askedAt)
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
    const ticks = markets.get(market) ?? new MarketTicks()
    return ticks.legBefore(minute, pricesFrom, DISORDER_MS[exchange])
  }

  /** Whether both streams have come so far that every frame from before M has arrived, if none was lost. */
  havePassed(minute: EpochMinute): boolean {
    const { upbit, binance } = this.#exchanges
    const start = minuteStart(minute)
    return upbit.watermark >= start + DISORDER_MS.upbit && binance.watermark >= start + DISORDER_MS.binance
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
      /** Frames whose price was not taken because they were late. */
      lateTicks: this.#lateTicks[exchange],
      /** Markets of which frames could not be read or placed in time. */
      missed: [...markets].flatMap(([market, { missed }]) => (missed ? { market, ...missed } : [])),
      /** The newest event time of its stream; undefined before the first frame. */
      watermark: Number.isFinite(watermark) ? watermark : undefined,
      /** Markets that the exchange says do not trade now. */
      halted: [...markets].filter(([, { haltedAt }]) => haltedAt !== undefined).map(([market]) => market),
    }
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
