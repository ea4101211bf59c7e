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
  REFERENCE_MARKETS,
  type Tick,
} from '@kimchi/core'
import { isBlocked, retryDelay } from './backoff.ts'
import { type Connection, type Ending, openConnection } from './connection.ts'
import { createConnectionBudget } from './connection-budget.ts'
import { createFeedCounters, type FeedCounters, type FeedState, type FeedStatus } from './feed-status.ts'
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
  /** The exchange's own codes; the reference markets are added by the feed. */
  readonly markets: readonly Market[]
  /**
   * Takes each tick, straight from the socket. A callback and not an async iterator: at thousands of frames a
   * second a promise per tick costs more than its decoding.
   */
  readonly onTick: (tick: Tick) => void
  /** Frames may have been lost; called before the first tick after it. */
  readonly onInterrupted: (interruption: Interruption) => void
  /** The exchange said, without a tick, whether a market trades. `askedAt` is when it was asked. */
  readonly onTradable: (exchange: Exchange, market: Market, tradable: boolean, askedAt: EpochMs) => void
  /**
   * How to learn which markets trade, and the prices with which a stream begins. Where it is absent, the
   * subscription is sent again and its snapshots tell both.
   */
  readonly askTradingPrices?: AskTradingPrices
  readonly timing?: Partial<FeedTiming>
}

/** Waits that are ours to choose. */
export interface FeedTiming {
  /** @default 10 s */
  readonly handshakeTimeoutMs: Milliseconds
  /** How long the old connection goes on after the first data frame of the new one. @default 1 s */
  readonly overlapMs: Milliseconds
  /** How long an exchange may take to answer our close frame. @default 500 ms */
  readonly closeGraceMs: Milliseconds
}

/** What a feed gets from the outside. */
export type FeedContext = Pick<Context, 'clock' | 'random' | 'log'>

/** One exchange's ticks, for as long as it is open. */
export interface Feed {
  status(): FeedStatus
  /** Changes what is subscribed, without a reconnect. Forgotten markets give no more ticks. */
  setMarkets(markets: readonly Market[]): void
  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  close(): Promise<void>
}

/**
 * Opens the feed of one exchange: connects, subscribes, and keeps data coming until it is closed. Reconnects
 * with jittered backoff and within a budget; replaces a connection that grows old, or is about to be closed
 * by the exchange, after its successor carries data; asks once a minute which markets trade.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when there are more markets than one connection may carry
 * @see docs/architecture.md#ingester
 */
export function openFeed(options: FeedOptions, context: FeedContext): Feed {
  return new ReconnectingFeed(options, context)
}

const TIMING: FeedTiming = { handshakeTimeoutMs: 10_000, overlapMs: 1_000, closeGraceMs: 500 }

/** A longer silence may have swallowed frames. */
const MAX_QUIET_MS: Milliseconds = 3_000

/**
 * A connection that breaks sooner does not reset the backoff: an exchange that keeps dropping us needs rest.
 */
const HEALTHY_MS: Milliseconds = 60_000

class ReconnectingFeed implements Feed {
  readonly #options: FeedOptions
  readonly #context: Context
  readonly #timing: FeedTiming
  readonly #exchange: Exchange
  readonly #counters: FeedCounters
  readonly #stop = new AbortController()
  readonly #connections = new Set<Connection>()
  readonly #statusRequests: StatusRequests
  readonly #running: Promise<void>
  #markets: readonly Market[]
  /** Markets whose current price has yet to be asked for. */
  #unseeded = new Set<Market>()
  #phase: 'connecting' | 'waiting' | 'blocked' = 'connecting'
  #isCarried = false
  #wasUp = false
  #lastDataAt: EpochMs | undefined
  /** Nothing was lost before this time when the last connection broke. */
  #brokenAt: EpochMs = Number.NEGATIVE_INFINITY
  #statusAt: EpochMs
  readonly #unknownStates = new Set<string>()

  constructor(options: FeedOptions, context: FeedContext) {
    this.#options = options
    this.#context = { ...context, signal: this.#stop.signal }
    this.#exchange = options.protocol.exchange
    this.#timing = { ...TIMING, ...options.timing }
    this.#counters = createFeedCounters(this.#exchange, context)
    this.#markets = withReferenceMarkets(options.protocol, options.markets)
    this.#statusAt = context.clock.now()
    // Each connection of the budget listens to it: more than Node expects, and bounded.
    setMaxListeners(100, this.#stop.signal)
    const request = (signal: AbortSignal) => this.#askStatus(signal)
    const onFailure = (cause: unknown) => this.#noteStatusFailure(cause)
    this.#statusRequests = openStatusRequests(request, onFailure, this.#context)
    this.#running = this.#run()
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
      // Still open means that it is due: its successor is opened while it goes on.
      const isDue = !connection.signal.aborted
      if (!signal.aborted && !(isDue && isHealthy)) {
        const error = isDue ? undefined : (await connection.ended).error
        const delayMs = retryDelay(failures, random, error)
        this.#phase = isBlocked(error) ? 'blocked' : 'waiting'
        if (error !== undefined) this.#logRetry(error, failures, delayMs)
        failures += 1
        await clock.wait(delayMs, signal)
      }
      await spaced
    }
  }

  #connect(): Connection {
    this.#counters.counts.attempts += 1
    const connection = openConnection(
      {
        ...this.#timing,
        protocol: this.#options.protocol,
        markets: this.#markets,
        onOpen: () => {
          this.#counters.counts.connections += 1
        },
        onFrame: (decoded, opened) => this.#take(decoded, opened),
      },
      this.#context,
    )
    this.#connections.add(connection)
    void connection.ended.then(ending => this.#lose(ending))
    void connection.closed.then(() => this.#connections.delete(connection))
    return connection
  }

  /** Resolves when the connection has ended or is due; true when it carried data for {@link HEALTHY_MS}. */
  async #untilOver(connection: Connection): Promise<boolean> {
    if (!(await connection.live)) return false
    this.#takeOver(connection)
    let isHealthy = false
    void this.#context.clock.wait(HEALTHY_MS, connection.signal).then(() => {
      isHealthy = !connection.signal.aborted
    })
    await Promise.race([connection.ended, connection.due])
    return isHealthy
  }

  #take(decoded: Decoded, connection: Connection): void {
    const { counts } = this.#counters
    counts.frames += 1
    if (decoded.kind === 'tick') this.#takeTick(decoded.tick, connection)
    else if (decoded.kind === 'halted') {
      this.#options.onTradable(this.#exchange, decoded.market, false, this.#context.clock.now())
    } else if (decoded.kind === 'malformed') this.#counters.drop(decoded.reason)
    else counts.ignored += 1
    if (decoded.kind === 'tick' && decoded.unknownState !== undefined) this.#noteState(decoded.unknownState)
  }

  #noteState(state: string): void {
    if (this.#unknownStates.has(state)) return
    this.#unknownStates.add(state)
    const fields = { exchange: this.#exchange, state }
    this.#context.log.warn(fields, 'unknown market state: its market is taken as trading')
  }

  #takeTick(tick: Tick, connection: Connection): void {
    if (tick.origin === 'stream') this.#noteData(tick.receivedAt, connection)
    else this.#statusAt = tick.receivedAt
    this.#emit(tick)
  }

  #emit(tick: Tick): void {
    this.#counters.counts.ticks += 1
    this.#options.onTick(tick)
  }

  /** Reports the interruption that ends with this frame, if any; a step of the wall clock counts as one. */
  #noteData(at: EpochMs, connection: Connection): void {
    const openedAt = this.#isCarried ? undefined : connection.openedAt
    const quietSince = openedAt ?? this.#lastDataAt ?? at
    const isSilence = Math.abs(at - quietSince) > MAX_QUIET_MS
    const from = this.#isCarried ? quietSince : this.#brokenAt
    const isInterruption = isSilence || !this.#isCarried
    this.#isCarried = true
    this.#lastDataAt = at
    if (!isInterruption) return
    if (isSilence) this.#counters.counts.silences += 1
    // A new connection starts with current prices, and after them nothing is missing unless it was silent.
    const pricesFrom = isSilence ? at : (openedAt ?? at)
    this.#options.onInterrupted({ exchange: this.#exchange, from, to: at, pricesFrom })
    if (isSilence || this.#options.askTradingPrices !== undefined) this.#seed(this.#markets)
  }

  /** Asks for current prices, which come after the frames under way: no trade is lost between the two. */
  #seed(markets: readonly Market[]): void {
    for (const market of markets) this.#unseeded.add(market)
    this.#statusRequests.askNow()
  }

  async #askStatus(signal: AbortSignal): Promise<void> {
    const { askTradingPrices } = this.#options
    if (askTradingPrices === undefined) {
      this.#carrying()?.renewSubscription()
      return
    }
    const unseeded = this.#unseeded
    this.#unseeded = new Set()
    const askedAt = this.#context.clock.now()
    try {
      const prices = await askTradingPrices(signal)
      if (!signal.aborted) this.#takeTradingPrices(prices, unseeded, askedAt)
    } catch (cause) {
      for (const market of unseeded) this.#unseeded.add(market)
      throw cause
    }
  }

  #takeTradingPrices(
    prices: ReadonlyMap<Market, number | undefined>,
    unseeded: ReadonlySet<Market>,
    askedAt: EpochMs,
  ): void {
    const now = this.#context.clock.now()
    this.#statusAt = now
    for (const market of this.#markets) {
      this.#options.onTradable(this.#exchange, market, prices.has(market), askedAt)
      const price = prices.get(market)
      if (price === undefined || !unseeded.has(market)) continue
      const exchange = this.#exchange
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

  /** Closes the older connections, now that a new one carries data. */
  #takeOver(connection: Connection): void {
    const { log, clock, signal } = this.#context
    const others = [...this.#connections].filter(other => other !== connection)
    const isReplacement = others.some(other => other.carrying)
    if (isReplacement) this.#counters.counts.replacements += 1
    else if (this.#wasUp) this.#counters.counts.reconnects += 1
    this.#wasUp = true
    const fields = { exchange: this.#exchange, replaced: isReplacement, markets: this.#markets.length }
    log.info(fields, 'feed is up')
    if (others.length === 0) return
    void clock.wait(this.#timing.overlapMs, signal).then(() => {
      // If the new one has broken meanwhile, the old one is all we have.
      if (connection.carrying) for (const other of others) void other.close()
    })
  }

  #lose({ error, lostAt, hadData }: Ending): void {
    if (error.code === 'KIMCHI_ERR_FEED_STALLED') this.#counters.counts.stalls += 1
    if (error.code === 'KIMCHI_ERR_FRAME') this.#counters.drop(error.message)
    if (this.#stop.signal.aborted) return
    const isCarried = this.#carrying() !== undefined
    if (!isCarried || !hadData) this.#counters.remember(error)
    if (isCarried || !hadData) return
    this.#isCarried = false
    this.#brokenAt = lostAt
  }

  #logRetry(error: KimchiError, failures: number, delayMs: Milliseconds): void {
    const fields = {
      exchange: this.#exchange,
      code: error.code,
      error: error.message,
      failures,
      delayMs: Math.round(delayMs),
    }
    if (isBlocked(error)) this.#context.log.error(fields, 'blocked by the exchange')
    else this.#context.log.warn(fields, 'no data from the exchange, reconnecting')
  }

  setMarkets(markets: readonly Market[]): void {
    const known = new Set(this.#markets)
    this.#markets = withReferenceMarkets(this.#options.protocol, markets)
    for (const connection of this.#connections) connection.setMarkets(this.#markets)
    const added = this.#markets.filter(market => !known.has(market))
    if (added.length > 0 && this.#options.askTradingPrices !== undefined) this.#seed(added)
  }

  status(): FeedStatus {
    return {
      exchange: this.#exchange,
      state: this.#state(),
      lastDataAt: this.#lastDataAt,
      statusAt: this.#statusAt,
      markets: this.#markets.length,
      ...this.#counters.counts,
      lastError: this.#counters.lastError,
    }
  }

  #state(): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    return this.#carrying() === undefined ? this.#phase : 'up'
  }

  #carrying(): Connection | undefined {
    return [...this.#connections].findLast(connection => connection.carrying)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#connections].map(connection => connection.close()))
    await this.#running
  }
}

function withReferenceMarkets(
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
