import {
  type Context,
  type EpochMs,
  type Exchange,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  type TickSink,
} from '@kimchi/core'
import { Retry } from '../retry.ts'
import type { FeedCounters } from './feed-status.ts'

/**
 * How far into each minute an exchange is asked which markets trade: far from the turn of the minute, and late
 * enough for the next turn to know of a halt that is a minute old. A random part keeps several ingesters apart.
 */
const ASKED_FROM_MS: Milliseconds = 30_000
const SPREAD_MS: Milliseconds = 10_000

/** A market counts as halted when an answer that is requested 15 s later lacks it too: one may be incomplete. */
const CONFIRM_AFTER_MS: Milliseconds = 15_000

/** Requests are at least this far apart, however often a stream breaks off: Binance counts their weight. */
const SPACING_MS: Milliseconds = 1_000

/** The markets that trade now, each with its last price where that is plausible. */
export type TradingPrices = ReadonlyMap<Market, number | undefined>

/** When a request was sent, by the wall clock and by elapsed time. */
interface Asked {
  readonly at: EpochMs
  readonly elapsed: Milliseconds
}

/** How to ask an exchange, and where its answers go. */
export interface TradingStatusOptions {
  readonly exchange: Exchange
  /** The markets of interest now. */
  readonly markets: () => readonly Market[]
  /** Asks the exchange; resolves with undefined where it answers by snapshots on the stream. */
  readonly ask: () => Promise<TradingPrices | undefined>
  readonly sink: Pick<TickSink, 'record' | 'setTradable'>
  readonly counters: FeedCounters
}

/**
 * Asks an exchange once a minute which markets trade, and at once where current prices are missing. A request
 * that fails is repeated with backoff.
 */
export class TradingStatus {
  /** When the exchange last answered; when this was created, before the first answer. */
  answeredAt: EpochMs
  readonly #options: TradingStatusOptions
  readonly #context: Context
  /** Markets whose current price is still to be requested. */
  #unseeded = new Set<Market>()
  /** Whether one of them is not to wait for the request of the minute. */
  #isSeedDue = false
  /** Markets that an answer lacked, and when it was asked for. */
  #absent: ReadonlyMap<Market, Asked> = new Map()
  /** Whether an absence is still to be confirmed: then the next request comes after 15 s. */
  #isInDoubt = false
  /** Aborted to end the wait for the next request. AbortSignal.any would leave a dependant on the feed's signal each time. */
  #idle = new AbortController()

  constructor(options: TradingStatusOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.answeredAt = context.clock.now()
    context.signal.addEventListener('abort', () => this.#idle.abort(), { once: true })
  }

  /**
   * Has the current prices of these markets requested: at once, or when the request under way or the wait after a
   * failure is over. The answer comes after the frames already sent, so that no trade falls between them.
   */
  seed(markets: readonly Market[]): void {
    this.seedNext(markets)
    this.#isSeedDue = true
    this.#idle.abort()
  }

  /** Has the current prices of these markets taken from the next answer that has them, without a request of their own. */
  seedNext(markets: readonly Market[]): void {
    for (const market of markets) this.#unseeded.add(market)
  }

  /** Asks until the context's signal aborts. Does not reject. */
  async run(): Promise<void> {
    const { clock, random, signal } = this.#context
    const retry = new Retry(this.#context)
    const offsetMs = ASKED_FROM_MS + Math.floor(SPREAD_MS * random())
    let lastAsked = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      this.#idle = new AbortController()
      const waitMs = this.#isInDoubt ? CONFIRM_AFTER_MS : untilNext(clock.now(), offsetMs)
      if (retry.failures === 0 && !this.#isSeedDue) await clock.wait(waitMs, this.#idle.signal)
      const tooSoonMs = lastAsked + SPACING_MS - clock.elapsed()
      if (retry.failures === 0 && tooSoonMs > 0) await clock.wait(tooSoonMs, signal)
      if (signal.aborted) return
      const unseeded = this.#unseeded
      this.#unseeded = new Set()
      this.#isSeedDue = false
      const asked = { at: clock.now(), elapsed: clock.elapsed() }
      lastAsked = asked.elapsed
      try {
        const prices = await this.#options.ask()
        if (prices !== undefined && !signal.aborted) this.#receive(prices, unseeded, asked)
        retry.reset()
      } catch (cause) {
        if (signal.aborted) return
        for (const market of unseeded) this.#unseeded.add(market)
        this.#options.counters.countFailure('statusFailures', cause)
        await retry.wait(cause)
      }
    }
  }

  #receive(prices: TradingPrices, unseeded: ReadonlySet<Market>, asked: Asked): void {
    const { exchange, markets, sink } = this.#options
    const now = this.#context.clock.now()
    this.answeredAt = now
    const absentBefore = this.#absent
    const absent = new Map<Market, Asked>()
    this.#absent = absent
    this.#isInDoubt = false
    for (const market of markets()) {
      const price = prices.get(market)
      if (prices.has(market)) sink.setTradable(exchange, market, true, asked.at)
      else absent.set(market, this.#judgeAbsence(market, absentBefore.get(market), asked))
      if (!unseeded.has(market)) continue
      if (price === undefined) {
        this.#unseeded.add(market)
        continue
      }
      const times = { eventAt: now, sentAt: asked.at, receivedAt: now, tradedAt: now }
      sink.record({ exchange, market, price, ...times, origin: 'seed', tradable: true })
    }
  }

  /** Returns the request that a confirming one must follow by 15 s. */
  #judgeAbsence(market: Market, first: Asked | undefined, asked: Asked): Asked {
    if (first === undefined || asked.elapsed - first.elapsed < CONFIRM_AFTER_MS) {
      this.#isInDoubt = true
      return first ?? asked
    }
    const { exchange, sink } = this.#options
    sink.setTradable(exchange, market, false, first.at)
    return asked
  }
}

/** Milliseconds to the next instant that lies so far into its minute. */
function untilNext(now: EpochMs, offsetMs: Milliseconds): Milliseconds {
  const behind = (now - offsetMs) % MINUTE_MS
  // A timer may fire a little early.
  return MINUTE_MS - behind + (behind > MINUTE_MS - 1_000 ? MINUTE_MS : 0)
}
