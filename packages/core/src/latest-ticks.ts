import { Arrivals, type Heard } from './arrivals.ts'
import { MarketTicks } from './market-ticks.ts'
import type { Leg } from './sample-or-gap.ts'
import type { Exchange, Interruption, Market, Tick } from './tick.ts'
import { minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/**
 * How far frames may overtake each other. A stream must be this far beyond M before every frame that belongs
 * before M has arrived. Upbit delivered trades up to 1.55 s out of order,
 * docs/exchanges.md#upbit-websocket. Binance updates each market once a second.
 */
export const DISORDER_MS: Readonly<Record<Exchange, Milliseconds>> = { upbit: 1_600, binance: 1_000 }

/** The minute of the snapshot stays until frames are dated so much later. */
const MINUTES_KEPT = 3

/** All that the samples of minute M are decided by. */
export interface KnownBefore {
  readonly minute: EpochMinute
  /** Whether both streams have come so far that every frame from before M has arrived, if none was lost. */
  readonly hasPassed: boolean
  /** Whether our clock is wrong: most frames of an exchange received in the minute before M were early, or most late. */
  readonly isSkewed: boolean
  /** Whether any market of the exchange is known to have traded in the minute before M. */
  readonly upbitUp: boolean
  readonly binanceUp: boolean
  /** The markets of which anything is known. */
  readonly upbit: ReadonlyMap<Market, Leg>
  readonly binance: ReadonlyMap<Market, Leg>
}

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
   * @param heard of a frame of data: how its stream was heard before @default it is the first
   * @returns what may have been lost before it; in a silence the watermark stands still, so no minute counts as complete
   */
  record(tick: Tick, heard: Heard = {}): Interruption | undefined {
    const exchange = this.#exchanges[tick.exchange]
    const { eventAt, receivedAt, tradedAt } = tick
    const isStream = tick.origin === 'stream'
    const { isAhead, isLate, isSkewed, interruption } = exchange.arrivals.judge(tick, heard)
    if (interruption?.isClockBack) {
      // Everything begins anew, with this frame.
      const anew = new ExchangeTicks()
      anew.pricesFrom = interruption.pricesFrom
      this.#exchanges[tick.exchange] = anew
      this.record(tick)
      return interruption
    }
    if (interruption !== undefined) {
      const { pricesFrom, isSeedWanted } = interruption
      // What came in the same millisecond came before this frame. A new connection has brought SNAPSHOTs of its own.
      exchange.interrupt(pricesFrom, isLate || isSeedWanted ? receivedAt + 1 : pricesFrom)
    }
    if (isSkewed !== undefined) exchange.stateOf(minuteOf(receivedAt)).isSkewed = isSkewed
    if (isStream && tradedAt !== undefined && !isAhead) exchange.stateOf(minuteOf(tradedAt)).isUp = true
    if (isAhead) this.miss(tick.exchange, tick.market, receivedAt)
    else if (isLate) this.#lateTicks[tick.exchange] += 1
    else {
      exchange.ticksOf(tick.market).add(tick)
      if (isStream) exchange.watermark = Math.max(exchange.watermark, eventAt)
    }
    return interruption
  }

  /**
   * Notes a frame that can't be read or placed in time: the price of its market, or every price where it may be of any
   * market, is unknown until something newer comes.
   */
  miss(exchange: Exchange, market: Market | undefined, receivedAt: EpochMs): void {
    const ticks = this.#exchanges[exchange]
    if (market === undefined) ticks.interrupt(receivedAt, receivedAt + 1)
    else ticks.ticksOf(market).miss(receivedAt)
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

  /** What is known just before minute M. */
  before(minute: EpochMinute): KnownBefore {
    const { upbit, binance } = this.#exchanges
    const start = minuteStart(minute)
    const [ofUpbit, ofBinance] = [upbit.stateOf(minute - 1), binance.stateOf(minute - 1)]
    return {
      minute,
      hasPassed:
        upbit.watermark >= start + DISORDER_MS.upbit && binance.watermark >= start + DISORDER_MS.binance,
      isSkewed: ofUpbit.isSkewed || ofBinance.isSkewed,
      upbitUp: ofUpbit.isUp,
      binanceUp: ofBinance.isUp,
      upbit: upbit.legsBefore(minute, DISORDER_MS.upbit),
      binance: binance.legsBefore(minute, DISORDER_MS.binance),
    }
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
  readonly arrivals = new Arrivals()
  /** The newest event time of the stream. */
  watermark: EpochMs = Number.NEGATIVE_INFINITY
  /** A price received before this may have been superseded by one that was lost. */
  pricesFrom: EpochMs = Number.NEGATIVE_INFINITY
  /** By minute: whether a market traded in it, and whether the frames that came in it show that our clock is wrong. */
  readonly #minutes = new Map<EpochMinute, { isUp: boolean; isSkewed: boolean }>()

  ticksOf(market: Market): MarketTicks {
    const ticks = this.markets.get(market) ?? new MarketTicks()
    this.markets.set(market, ticks)
    return ticks
  }

  /** @param before SNAPSHOTs received before this confirm no price any more */
  interrupt(pricesFrom: EpochMs, before: EpochMs): void {
    this.pricesFrom = pricesFrom
    for (const ticks of this.markets.values()) ticks.unconfirm(before)
  }

  stateOf(minute: EpochMinute) {
    const state = this.#minutes.get(minute) ?? { isUp: false, isSkewed: false }
    this.#minutes.set(minute, state)
    for (const old of this.#minutes.keys()) if (old < minute - MINUTES_KEPT) this.#minutes.delete(old)
    return state
  }

  legsBefore(minute: EpochMinute, disorderMs: Milliseconds): ReadonlyMap<Market, Leg> {
    const legOf = (ticks: MarketTicks) => ticks.legBefore(minute, this.pricesFrom, disorderMs)
    return new Map(Array.from(this.markets, ([market, ticks]) => [market, legOf(ticks)]))
  }
}
