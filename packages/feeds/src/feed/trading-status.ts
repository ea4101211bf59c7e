import {
  type Context,
  type EpochMs,
  type Exchange,
  type LatestTicks,
  type Market,
  MINUTE_MS,
  type Milliseconds,
} from '@kimchi/core'
import type { Asked } from '../http.ts'
import type { TradingPrices } from '../rest/trading-prices.ts'
import { Retry } from '../retry.ts'
import type { FeedCounters } from './feed-counters.ts'

/**
 * How far into each minute an exchange is asked which markets trade: far from the turn of the minute, and late
 * enough for the next turn to know of a halt that is a minute old. A random part keeps several ingesters apart.
 */
const ASKED_FROM_MS: Milliseconds = 30_000
const SPREAD_MS: Milliseconds = 10_000

/** Requests are at least this far apart, however often a stream breaks off: Binance counts their weight. */
const SPACING_MS: Milliseconds = 1_000

/** One answer may be incomplete: a market is halted when another, requested so much later, lacks it too. */
const CONFIRM_AFTER_MS: Milliseconds = 15_000

export interface Answer {
  readonly asked: Asked
  /** Those that it is about. */
  readonly markets: readonly Market[]
  readonly trading: TradingPrices
}

/** How to ask an exchange, and where its answers go. */
export interface TradingStatusOptions {
  readonly exchange: Exchange
  /** Asks; resolves with the answer to this or to the last request, or with undefined where that says nothing. */
  readonly ask: () => Promise<Answer | undefined>
  readonly sink: Pick<LatestTicks, 'record' | 'setTradable'>
  readonly counters: FeedCounters
}

/**
 * Asks an exchange once a minute which markets trade, and at once where current prices are missing. A market that two
 * answers in a row lack, 15 s apart or more, does not trade. A request that fails is repeated with backoff.
 */
export class TradingStatus {
  /** When the exchange last answered; when this was opened, before the first answer. */
  answeredAt: EpochMs
  readonly #options: TradingStatusOptions
  readonly #context: Context
  /** Markets that the last answer lacked, and since when they have to be confirmed, or are. */
  #absent: ReadonlyMap<Market, Asked> = new Map()
  /** Markets whose current price is still to be requested. */
  #unseeded = new Set<Market>()
  /** Whether one of them is not to wait for the request of the minute. */
  #isSeedDue = false
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

  /** Takes these markets' prices from the next answer that has them, and sends no request of its own. */
  seedNext(markets: readonly Market[]): void {
    for (const market of markets) this.#unseeded.add(market)
  }

  /** Asks until the context's signal aborts. Does not reject. */
  async run(): Promise<void> {
    const { clock, random, signal } = this.#context
    const { ask, counters } = this.#options
    const retry = new Retry(this.#context)
    const offsetMs = ASKED_FROM_MS + Math.floor(SPREAD_MS * random())
    let lastAsked = Number.NEGATIVE_INFINITY
    let isInDoubt = false
    while (!signal.aborted) {
      this.#idle = new AbortController()
      const waitMs = isInDoubt ? CONFIRM_AFTER_MS : untilNext(clock.now(), offsetMs)
      if (retry.failures === 0 && !this.#isSeedDue) await clock.wait(waitMs, this.#idle.signal)
      const tooSoonMs = lastAsked + SPACING_MS - clock.elapsed()
      if (retry.failures === 0 && tooSoonMs > 0) await clock.wait(tooSoonMs, signal)
      if (signal.aborted) return
      const unseeded = this.#unseeded
      this.#unseeded = new Set()
      this.#isSeedDue = false
      const dueAt = clock.elapsed()
      lastAsked = dueAt
      try {
        const answer = await ask()
        if (signal.aborted) return
        // It may have waited for its turn. An answer to the last request tells nothing of this one.
        lastAsked = Math.max(dueAt, answer?.asked.elapsed ?? dueAt)
        isInDoubt = this.#receive(answer, unseeded, dueAt)
        retry.reset()
      } catch (cause) {
        if (signal.aborted) return
        for (const market of unseeded) this.#unseeded.add(market)
        counters.remember(cause)
        await retry.wait(cause, 'the request for the trading status failed and will be repeated')
      }
    }
  }

  /** Returns whether another request has to confirm the answer: where it is one to the last request, this one will. */
  #receive(answer: Answer | undefined, unseeded: ReadonlySet<Market>, dueAt: Milliseconds): boolean {
    const { exchange, sink } = this.#options
    const isInDoubt = this.#judge(answer)
    if (answer === undefined || answer.asked.elapsed < dueAt) return false
    const now = this.#context.clock.now()
    const times = { eventAt: now, sentAt: answer.asked.at, receivedAt: now, tradedAt: now }
    this.answeredAt = now
    for (const market of answer.markets.filter(market => unseeded.has(market))) {
      const price = answer.trading.get(market)
      if (price === undefined) this.#unseeded.add(market)
      else sink.record({ exchange, market, price, ...times, origin: 'seed', tradable: true })
    }
    return isInDoubt
  }

  /**
   * Tells which markets trade by an answer; returns whether one of them is absent for the first time. Without an answer
   * the next one is no second one in a row.
   */
  #judge(answer: Answer | undefined): boolean {
    const { exchange, sink } = this.#options
    const before = this.#absent
    const absent = new Map<Market, Asked>()
    this.#absent = absent
    if (answer === undefined) return false
    const { asked, markets, trading } = answer
    let isInDoubt = false
    for (const market of markets) {
      const first = before.get(market)
      const isConfirmed = first !== undefined && asked.elapsed - first.elapsed >= CONFIRM_AFTER_MS
      if (trading.has(market)) sink.setTradable(exchange, market, true, asked.at)
      else if (isConfirmed) sink.setTradable(exchange, market, false, first.at)
      else isInDoubt = true
      if (!trading.has(market)) absent.set(market, isConfirmed ? asked : (first ?? asked))
    }
    return isInDoubt
  }
}

/** Milliseconds to the next instant that lies so far into its minute. */
function untilNext(now: EpochMs, offsetMs: Milliseconds): Milliseconds {
  const behind = (now - offsetMs) % MINUTE_MS
  // A timer may fire a little early.
  return MINUTE_MS - behind + (behind > MINUTE_MS - 1_000 ? MINUTE_MS : 0)
}
