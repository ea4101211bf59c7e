import { setMaxListeners } from 'node:events'
import {
  type Context,
  type EpochMs,
  type Exchange,
  type Interruption,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  PACEMAKERS,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Tick,
} from '@kimchi/core'
import { Bases } from '../bases.ts'
import { NAME } from '../http.ts'
import { isBlocked, retryDelay } from './backoff.ts'
import { Connection, type ConnectionTiming, type Ending } from './connection.ts'
import { createConnectionBudget } from './connection-budget.ts'
import { createFeedCounters, type FeedCounters, type FeedState, type FeedStatus } from './feed-status.ts'
import { MarketSearch } from './market-search.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { openStatusRequests, type StatusRequests } from './status-requests.ts'

/**
 * Asks an exchange for the markets that trade now, each with its last price where that is plausible. Rejects
 * on any failure, and when aborted.
 */
export type AskTradingPrices = (signal: AbortSignal) => Promise<ReadonlyMap<Market, number | undefined>>

/** What a feed is opened with. Callbacks run synchronously and must not throw. */
export interface FeedOptions {
  readonly protocol: Protocol
  /** Our name in the handshake. @default without version and address */
  readonly userAgent?: string
  /** The exchange's own codes; the feed adds the reference markets and the pacemakers. */
  readonly markets: readonly Market[]
  /**
   * Called with each tick, straight from the socket. A callback and not an async iterator: at thousands of
   * frames a second a promise per tick costs more than its decoding.
   */
  readonly onTick: (tick: Tick) => void
  /** Frames may have been lost; called before the first tick after it. */
  readonly onInterrupted: (interruption: Interruption) => void
  /** The exchange said, without a tick, whether a market trades. `askedAt` is when it was asked. */
  readonly onTradable: (exchange: Exchange, market: Market, tradable: boolean, askedAt: EpochMs) => void
  /** The exchange refused the subscription because of a market in it: the lists may have changed. */
  readonly onRefusedMarkets?: () => void
  /**
   * How to learn which markets trade, and the prices with which a stream begins. Where it is absent, the feed
   * sends the subscription again, and its snapshots say both.
   */
  readonly askTradingPrices?: AskTradingPrices
  readonly timing?: Partial<FeedTiming>
}

/** Waits that are ours to choose. */
export interface FeedTiming extends ConnectionTiming {
  /** How long the old connection goes on after the first data frame of the new one. */
  readonly overlapMs: Milliseconds
}

/** What a feed gets from the outside. */
export type FeedContext = Pick<Context, 'clock' | 'random' | 'log'>

/**
 * Opens the feed of one exchange.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when there are more markets than one connection may carry
 */
export function openFeed(options: FeedOptions, context: FeedContext): Feed {
  return new Feed(options, context)
}

const TIMING: FeedTiming = { handshakeTimeoutMs: 10_000, overlapMs: 1_000, closeGraceMs: 500 }

/** A longer silence may have swallowed frames. */
const MAX_QUIET_MS: Milliseconds = 3_000

/**
 * A connection that breaks sooner does not reset the backoff: an exchange that keeps dropping us needs rest.
 */
const HEALTHY_MS: Milliseconds = 60_000

/** Between two lists that a search tries. */
const PROBE_MS: Milliseconds = 1_000

/** A list without any snapshot, of markets that never traded, passes as taken after so many probes' time. */
const PROBES_WITHOUT_SNAPSHOT = 3

/**
 * One exchange's ticks, from when it is opened until it is closed: connects, subscribes, and keeps data
 * coming. Reconnects with jittered backoff and within a budget, at the next base where one refuses; replaces
 * a connection that grows old, or is about to be closed by the exchange, after its successor carries data;
 * asks once a minute which markets trade; leaves out a market because of which the exchange refuses the
 * others.
 * @see docs/architecture.md#ingester
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #context: Context
  readonly #timing: FeedTiming
  readonly #exchange: Exchange
  readonly #counters: FeedCounters
  readonly #stop = new AbortController()
  readonly #connections = new Set<Connection>()
  readonly #bases: Bases
  readonly #search: MarketSearch
  readonly #statusRequests: StatusRequests
  readonly #running: Promise<void>
  readonly #unknownStates = new Set<string>()
  #markets: readonly Market[]
  /** Markets whose current price has yet to be asked for. */
  #unseeded = new Set<Market>()
  #phase: 'connecting' | 'waiting' | 'blocked' = 'connecting'
  #lastDataAt: EpochMs | undefined
  /** While no data comes: until when nothing was lost, -Infinity before the first. Undefined while it comes. */
  #brokenAt: EpochMs | undefined = Number.NEGATIVE_INFINITY
  #statusAt: EpochMs

  constructor(options: FeedOptions, context: FeedContext) {
    const { protocol } = options
    this.#options = options
    this.#context = { ...context, signal: this.#stop.signal }
    this.#exchange = protocol.exchange
    this.#timing = { ...TIMING, ...options.timing }
    this.#counters = createFeedCounters(this.#exchange, context)
    this.#bases = new Bases(protocol.exchange, 'stream', protocol.bases, context)
    this.#markets = withStandingMarkets(protocol, options.markets)
    this.#search = new MarketSearch(this.#markets, RATE_MARKET)
    this.#statusAt = context.clock.now()
    // Each connection of the budget listens to it: more than Node expects, and bounded.
    setMaxListeners(100, this.#stop.signal)
    const request = (signal: AbortSignal) => this.#askStatus(signal)
    const onFailure = (cause: unknown) => this.#noteStatusFailure(cause)
    this.#statusRequests = openStatusRequests(request, onFailure, this.#context)
    this.#running = this.#run()
  }

  /** Changes what is subscribed, without a reconnect. Forgotten markets give no more ticks. */
  setMarkets(markets: readonly Market[]): void {
    const known = new Set(this.#markets)
    this.#markets = withStandingMarkets(this.#options.protocol, markets)
    this.#search.want(this.#markets)
    this.#resubscribe()
    const added = this.#markets.filter(market => !known.has(market))
    if (added.length > 0 && this.#options.askTradingPrices !== undefined) this.#seed(added)
  }

  status(): FeedStatus {
    return {
      exchange: this.#exchange,
      state: this.#state(),
      base: this.#bases.status(),
      refusedMarkets: this.#search.refused,
      lastDataAt: this.#lastDataAt,
      statusAt: this.#statusAt,
      markets: this.#markets.length,
      ...this.#counters.counts,
      lastError: this.#counters.lastError,
    }
  }

  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#connections].map(connection => connection.close()))
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, random, signal } = this.#context
    const spendConnection = createConnectionBudget(this.#context)
    let failures = 0
    while (!signal.aborted) {
      await spendConnection()
      if (signal.aborted) break
      const spaced = clock.wait(this.#options.protocol.connectSpacingMs, signal)
      this.#phase = 'connecting'
      const connection = this.#connect()
      const isHealthy = await this.#untilOver(connection)
      if (isHealthy) failures = 0
      const { ending } = connection
      if (!signal.aborted && ending === undefined && !isHealthy) {
        // It is due, and its successor is opened while it goes on, but not in a storm.
        this.#phase = 'waiting'
        await clock.wait(retryDelay(failures++, random), signal)
      } else if (!signal.aborted && ending !== undefined && !this.#mayGoOn(connection, ending)) {
        const delayMs = retryDelay(failures, random, ending.error)
        this.#phase = isBlocked(ending.error) ? 'blocked' : 'waiting'
        this.#logRetry(ending.error, failures, delayMs)
        failures += 1
        await clock.wait(delayMs, signal)
      } else if (ending?.refusesMarkets) await clock.wait(PROBE_MS, signal)
      await spaced
    }
  }

  /** Whether the next connection is another attempt, at another base or with another list, and needs no wait. */
  #mayGoOn({ base }: Connection, { error, refusesMarkets, wasLive }: Ending): boolean {
    if (refusesMarkets && !this.#search.isHopeless) return this.#rejectMarkets()
    return !wasLive && this.#bases.failed(base, error)
  }

  #connect(): Connection {
    this.#counters.counts.attempts += 1
    const { protocol, userAgent = NAME } = this.#options
    const connection = new Connection(
      {
        protocol,
        base: this.#bases.next(),
        userAgent,
        timing: this.#timing,
        markets: this.#search.subscribed,
        onOpen: opened => {
          this.#counters.counts.connections += 1
          void this.#probe(opened)
        },
        onFrame: (decoded, from) => this.#receive(decoded, from),
      },
      this.#context,
    )
    this.#connections.add(connection)
    void connection.reached('ended').then(() => this.#lose(connection))
    void connection.closed.then(() => this.#connections.delete(connection))
    return connection
  }

  /** Resolves when the connection has ended or is due; true when it carried data for {@link HEALTHY_MS}. */
  async #untilOver(connection: Connection): Promise<boolean> {
    await connection.reached('live')
    if (!connection.isLive) return false
    this.#bases.worked(connection.base)
    this.#replaceOthers(connection)
    let isHealthy = false
    void this.#context.clock.wait(HEALTHY_MS, connection.signal).then(() => {
      isHealthy = !connection.signal.aborted
    })
    await connection.reached('due')
    return isHealthy
  }

  #receive(decoded: Decoded, connection: Connection): void {
    const { counts } = this.#counters
    counts.frames += 1
    if (decoded.kind === 'tick') {
      if (decoded.unknownState !== undefined) this.#noteState(decoded.unknownState)
      this.#receiveTick(decoded.tick, connection)
    } else if (decoded.kind === 'halted') {
      this.#options.onTradable(this.#exchange, decoded.market, false, this.#context.clock.now())
    } else if (decoded.kind === 'malformed') this.#counters.drop(decoded.reason)
    else counts.ignored += 1
  }

  #receiveTick(tick: Tick, connection: Connection): void {
    if (tick.origin === 'stream') this.#noteData(tick.receivedAt, connection)
    else {
      this.#statusAt = tick.receivedAt
      this.#search.prove(tick.market)
    }
    this.#emit(tick)
  }

  #emit(tick: Tick): void {
    this.#counters.counts.ticks += 1
    this.#options.onTick(tick)
  }

  #noteState(state: string): void {
    if (this.#unknownStates.has(state)) return
    this.#unknownStates.add(state)
    const fields = { exchange: this.#exchange, state }
    this.#context.log.warn(fields, 'unknown market state: its market is taken as trading')
  }

  #noteData(at: EpochMs, { openedAt }: Connection): void {
    const quietSince = this.#lastDataAt ?? at
    const brokenAt = this.#brokenAt
    this.#lastDataAt = at
    if (brokenAt !== undefined) this.#noteReturn(brokenAt, openedAt ?? at, at)
    else if (isSilence(quietSince, at)) this.#noteSilence(quietSince, at)
  }

  /** Data flows on one connection again, or for the first time. */
  #noteReturn(brokenAt: EpochMs, openedAt: EpochMs, at: EpochMs): void {
    this.#brokenAt = undefined
    if (Number.isFinite(brokenAt)) this.#counters.counts.reconnects += 1
    // A new connection starts with current prices, and after them nothing is missing unless it was silent.
    if (isSilence(openedAt, at)) this.#noteSilence(brokenAt, at)
    else {
      this.#options.onInterrupted({ exchange: this.#exchange, from: brokenAt, to: at, pricesFrom: openedAt })
      if (this.#options.askTradingPrices !== undefined) this.#seed(this.#markets)
    }
  }

  /** An open connection was silent for so long that frames may be lost. */
  #noteSilence(from: EpochMs, at: EpochMs): void {
    this.#counters.counts.silences += 1
    this.#options.onInterrupted({ exchange: this.#exchange, from, to: at, pricesFrom: at })
    this.#seed(this.#markets)
  }

  /** Asks for current prices, which come after the frames under way: no trade is lost between the two. */
  #seed(markets: readonly Market[]): void {
    for (const market of markets) this.#unseeded.add(market)
    this.#statusRequests.askNow()
  }

  async #askStatus(signal: AbortSignal): Promise<void> {
    const { askTradingPrices } = this.#options
    const askedAt = this.#context.clock.now()
    if (askTradingPrices === undefined) {
      if (this.#search.forgive(askedAt)) this.#resubscribe()
      this.#live()?.renewSubscription()
      return
    }
    const unseeded = this.#unseeded
    this.#unseeded = new Set()
    try {
      const prices = await askTradingPrices(signal)
      if (!signal.aborted) this.#receiveTradingPrices(prices, unseeded, askedAt)
    } catch (cause) {
      for (const market of unseeded) this.#unseeded.add(market)
      throw cause
    }
  }

  #receiveTradingPrices(
    prices: ReadonlyMap<Market, number | undefined>,
    unseeded: ReadonlySet<Market>,
    askedAt: EpochMs,
  ): void {
    const now = this.#context.clock.now()
    const exchange = this.#exchange
    this.#statusAt = now
    for (const market of this.#markets) {
      this.#options.onTradable(exchange, market, prices.has(market), askedAt)
      const price = prices.get(market)
      if (price === undefined || !unseeded.has(market)) continue
      const times = { eventAt: now, sentAt: undefined, receivedAt: now, tradedAt: now }
      this.#emit({ exchange, market, price, ...times, origin: 'seed', tradable: true })
    }
  }

  #noteStatusFailure(cause: unknown): void {
    this.#counters.counts.statusFailures += 1
    this.#counters.remember(cause)
    const fields = { exchange: this.#exchange, error: messageOf(cause) }
    this.#context.log.warn(fields, 'trading status not known, will be asked for again')
  }

  #resubscribe(): void {
    for (const connection of this.#connections) connection.setMarkets(this.#search.subscribed)
  }

  /** While a search is on, adds what it held back to the connection's list, group by group. */
  async #probe(connection: Connection): Promise<void> {
    const { clock } = this.#context
    for (let probes = 1; this.#search.isSearching; probes += 1) {
      await clock.wait(PROBE_MS, connection.signal)
      if (connection.signal.aborted) return
      if (!this.#search.isTrialProven && probes < PROBES_WITHOUT_SNAPSHOT) continue
      this.#search.accept()
      connection.setMarkets(this.#search.subscribed)
      probes = 0
    }
  }

  /** Halves the list after a refusal. False when the exchange refuses the rate itself: no list would work. */
  #rejectMarkets(): boolean {
    const market = this.#search.reject(this.#context.clock.now())
    this.#options.onRefusedMarkets?.()
    const fields = { exchange: this.#exchange, market }
    if (this.#search.isHopeless) this.#context.log.error(fields, 'the exchange refuses the rate: no samples')
    else if (market !== undefined) {
      this.#context.log.warn(fields, 'the exchange refuses a market: it is left out for an hour')
    }
    return !this.#search.isHopeless
  }

  /** Closes the older connections, now that a new one carries data. */
  #replaceOthers(connection: Connection): void {
    const { log, clock, signal } = this.#context
    const others = [...this.#connections].filter(other => other !== connection)
    const isReplacement = others.some(other => other.isLive)
    if (isReplacement) this.#counters.counts.replacements += 1
    const fields = { exchange: this.#exchange, replaced: isReplacement, markets: this.#markets.length }
    log.info(fields, 'feed is up')
    if (others.length === 0) return
    void clock.wait(this.#timing.overlapMs, signal).then(() => {
      // If the new one has broken meanwhile, the old one is all we have.
      if (connection.isLive) for (const other of others) void other.close()
    })
  }

  #lose({ ending }: Connection): void {
    if (ending === undefined) return
    const { error, lostAt, wasLive } = ending
    if (error.code === 'KIMCHI_ERR_FEED_STALLED') this.#counters.counts.stalls += 1
    if (error.code === 'KIMCHI_ERR_FRAME') this.#counters.drop(error.message)
    if (this.#stop.signal.aborted) return
    const isOver = wasLive && this.#live() === undefined
    if (isOver || !wasLive) this.#counters.remember(error)
    if (isOver) this.#brokenAt = lostAt
  }

  #logRetry(error: KimchiError, failures: number, delayMs: Milliseconds): void {
    const { code, message } = error
    const fields = { exchange: this.#exchange, code, error: message, failures, delayMs: Math.round(delayMs) }
    if (isBlocked(error)) this.#context.log.error(fields, 'blocked by the exchange')
    else this.#context.log.warn(fields, 'no data from the exchange, reconnecting')
  }

  #state(): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    return this.#live() === undefined ? this.#phase : 'up'
  }

  #live(): Connection | undefined {
    return [...this.#connections].findLast(connection => connection.isLive)
  }
}

/** A step of the wall clock counts as a silence, so that no times from before and after it are compared. */
function isSilence(from: EpochMs, to: EpochMs): boolean {
  return Math.abs(to - from) > MAX_QUIET_MS
}

function withStandingMarkets(
  { exchange, maxMarkets }: Protocol,
  markets: readonly Market[],
): readonly Market[] {
  const all = [...new Set([...REFERENCE_MARKETS[exchange], ...PACEMAKERS[exchange], ...markets])]
  if (all.length <= maxMarkets) return all
  throw new KimchiError(
    'KIMCHI_ERR_CONFIG',
    `${exchange} markets must be at most ${maxMarkets} on one connection, got: ${all.length}`,
  )
}
