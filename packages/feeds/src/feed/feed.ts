import {
  type Context,
  type EpochMs,
  type Exchange,
  isWorthALine,
  KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
  type Tick,
  type TickSink,
} from '@kimchi/core'
import { Bases } from '../bases.ts'
import { isBlocked } from '../http-error.ts'
import { Retry } from '../retry.ts'
import { type Connection, type OpenSocket, openConnection, SubscriptionRefused } from './connection.ts'
import { createConnectionBudget } from './connection-budget.ts'
import { FeedCounters, type FeedState } from './feed-status.ts'
import { type DataBefore, interruptionAt } from './interruption.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { subscribedMarkets } from './subscribed-markets.ts'
import { type TradingPrices, TradingStatus } from './trading-status.ts'

export type FeedStatus = ReturnType<Feed['status']>

/** What a feed is opened with. Callbacks run synchronously and must not throw. */
export interface FeedOptions {
  readonly protocol: Protocol
  /** Where the exchange streams, in the order in which it is tried. */
  readonly bases: string | readonly string[]
  readonly userAgent: string
  /** @default real WebSockets */
  readonly openSocket?: OpenSocket | undefined
  /** The exchange's own codes; the feed adds those that it always subscribes to. */
  readonly markets: readonly Market[]
  /**
   * Gets each tick straight from the socket. No async iterator: at thousands of frames a second a promise per
   * tick costs more than its decoding.
   */
  readonly sink: TickSink
  /** The exchange refused the subscription: the lists may have changed. */
  readonly onRefused?: () => void
  /**
   * Fetches the prices with which a stream begins, and once a minute the markets that trade.
   * @default the feed sends the subscription again, whose snapshots show both
   */
  readonly fetchTradingPrices?: () => Promise<TradingPrices>
}

const DROPPED = 'dropped a malformed frame'
const STATUS_FAILED = 'the request for the trading status failed and will be repeated'

export function openFeed(options: FeedOptions, context: Omit<Context, 'signal'>): Feed {
  const feed = new Feed(options, context)
  feed.open()
  return feed
}

/**
 * A connection that breaks sooner is a failure of its base, and does not reset the backoff: an exchange that keeps
 * dropping us needs rest.
 */
const HEALTHY_MS: Milliseconds = 60_000

/** Where in a minute a planned successor is opened, so that its first prices are there before the minute ends. */
const SUCCESSOR_FROM_MS: Milliseconds = 10_000
const SUCCESSOR_UNTIL_MS: Milliseconds = 40_000

/**
 * One exchange's ticks, from when it is opened until it is closed. One loop: connect at a base that works, read
 * until the connection ends or is due, back off. Where it is due, its successor is opened first. From the first
 * data frame of a newer connection on, only that one is read.
 * @see docs/architecture.md#ingester
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #exchange: Exchange
  readonly #context: Context
  readonly #stop = new AbortController()
  readonly #counters: FeedCounters
  readonly #bases: Bases
  readonly #tradingStatus: TradingStatus
  readonly #spendConnection: () => Promise<void>
  readonly #connections = new Set<Connection>()
  #running: Promise<void> | undefined
  #markets: readonly Market[]
  /** The connection whose data is read. */
  #reading: Connection | undefined
  #lastData: DataBefore | undefined
  /** Set between two attempts. */
  #waiting: 'waiting' | 'blocked' | undefined
  readonly #retry: Retry
  /** Ends the wait after a refused subscription. */
  #changed = new AbortController()

  constructor(options: FeedOptions, context: Omit<Context, 'signal'>) {
    const { protocol, sink } = options
    this.#options = options
    this.#exchange = protocol.exchange
    this.#context = { ...context, signal: this.#stop.signal }
    this.#markets = subscribedMarkets(this.#exchange, options.markets)
    this.#counters = new FeedCounters(this.#exchange, context)
    this.#bases = new Bases(this.#exchange, 'stream', options.bases, this.#context)
    this.#retry = new Retry(this.#context)
    this.#spendConnection = createConnectionBudget(this.#context)
    this.#tradingStatus = new TradingStatus(
      {
        exchange: this.#exchange,
        markets: () => this.#markets,
        ask: options.fetchTradingPrices ?? (async () => void this.#reading?.renewSubscription()),
        sink,
        onFailure: cause => this.#counters.countFailure('statusFailures', cause, STATUS_FAILED),
      },
      this.#context,
    )
  }

  /** Connects, and stays connected until {@link close}. */
  open(): void {
    void this.#tradingStatus.run()
    this.#running = this.#run()
  }

  /** Changes what is subscribed, without a reconnect. Markets that leave are forgotten. */
  setMarkets(markets: readonly Market[]): void {
    const before = this.#markets
    const next = subscribedMarkets(this.#exchange, markets)
    if (next.join() === before.join()) return
    this.#markets = next
    for (const connection of this.#connections) connection.setMarkets(next)
    for (const market of before) if (!next.includes(market)) this.#options.sink.forget(this.#exchange, market)
    this.#changed.abort()
  }

  /** How the feed is doing, for /ready, /metrics and the status hash. */
  status() {
    return {
      exchange: this.#exchange,
      state: this.#state,
      base: this.#bases.status(),
      /** When the last data frame came, on whichever connection. */
      lastDataAt: this.#lastData?.receivedAt,
      /** When we last learnt which markets trade; when the feed was opened, before the first answer. */
      statusAt: this.#tradingStatus.answeredAt,
      ...this.#counters,
    }
  }

  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#changed.abort()
    await Promise.all([...this.#connections].map(connection => connection.close()))
    await this.#running
  }

  get #state(): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    if (this.#reading?.signal.aborted === false) return 'up'
    return this.#waiting ?? 'connecting'
  }

  async #run(): Promise<void> {
    const { clock, signal } = this.#context
    while (!signal.aborted) {
      let reason: unknown
      try {
        const { connection, base } = await this.#bases.request(base => this.#connect(base))
        const liveFrom = clock.elapsed()
        reason = await this.#untilOver(connection)
        const isHealthy = clock.elapsed() - liveFrom >= HEALTHY_MS
        if (isHealthy) this.#retry.reset()
        else if (reason !== undefined) this.#bases.failed(base, reason)
        // A connection that is due stays open until its successor is live. One that has just begun waits first: a
        // base whose connections are due at once must not start a storm of them.
        if (isHealthy && reason === undefined) continue
      } catch (error) {
        reason = error
      }
      if (!signal.aborted) await this.#backOff(reason)
    }
  }

  /** Opens a connection. Resolves when it brings data, rejects when it ends before it does. */
  async #connect(base: string): Promise<{ connection: Connection; base: string }> {
    const { log, signal } = this.#context
    const { protocol, userAgent, openSocket } = this.#options
    await this.#spendConnection()
    signal.throwIfAborted()
    this.#waiting = undefined
    this.#counters.attempts += 1
    const connection: Connection = openConnection(
      {
        protocol,
        base,
        userAgent,
        openSocket,
        markets: this.#markets,
        onFrame: decoded => this.#receive(decoded, connection),
        onAcknowledged: markets => this.#tradingStatus.seed(markets),
      },
      this.#context,
    )
    this.#connections.add(connection)
    void connection.ended.then(error => this.#noteEnd(connection, error))
    await connection.live
    if (connection.signal.aborted) throw (await connection.ended) ?? signal.reason
    if (isWorthALine(this.#retry.failures))
      log.info({ exchange: this.#exchange, markets: this.#markets.length }, 'feed is up')
    return { connection, base }
  }

  /** Resolves with the reason when a live connection has ended, with undefined when it is time for a successor. */
  async #untilOver(connection: Connection): Promise<KimchiError | undefined> {
    const { clock } = this.#context
    await connection.due
    if (!connection.signal.aborted) await clock.wait(untilSuccessor(clock.now()), connection.signal)
    return connection.signal.aborted ? await connection.ended : undefined
  }

  async #backOff(reason: unknown): Promise<void> {
    const { clock, log, signal } = this.#context
    const delayMs = this.#retry.delay(reason)
    const { failures } = this.#retry
    const isRefused = reason instanceof SubscriptionRefused
    this.#waiting = isBlocked(reason) ? 'blocked' : 'waiting'
    if (reason !== undefined) {
      const code = reason instanceof KimchiError ? reason.code : undefined
      const error = messageOf(reason)
      const fields = { exchange: this.#exchange, code, error, failures, delayMs: Math.round(delayMs) }
      const line = isRefused
        ? 'the exchange refuses the subscription; if it names a code, DENY=SYMBOL excludes that coin'
        : 'no data from the exchange, reconnecting'
      if (!isWorthALine(failures)) log.debug(fields, line)
      else if (isBlocked(reason)) log.error(fields, 'blocked by the exchange')
      else log.warn(fields, line)
    }
    this.#changed = new AbortController()
    await clock.wait(delayMs, isRefused ? this.#changed.signal : signal)
  }

  #noteEnd(connection: Connection, error: KimchiError | undefined): void {
    void connection.close().then(() => this.#connections.delete(connection))
    if (error === undefined) return
    if (error instanceof SubscriptionRefused) this.#options.onRefused?.()
    if (error.code === 'KIMCHI_ERR_FRAME') this.#counters.countFailure('malformed', error, DROPPED)
    else this.#counters.remember(error)
  }

  #receive(decoded: Decoded, connection: Connection): void {
    const { sink } = this.#options
    if (decoded.kind === 'tick') this.#receiveTick(decoded.tick, connection)
    else if (decoded.kind === 'halted')
      sink.setTradable(this.#exchange, decoded.market, false, this.#context.clock.now())
    else if (decoded.kind === 'malformed') this.#miss(decoded)
  }

  /** Counts what can't be read. The market's price is unknown then; the next answer of the exchange will have it. */
  #miss({ reason, market }: Decoded & { readonly kind: 'malformed' }): void {
    this.#counters.countFailure('malformed', reason, DROPPED)
    if (market === undefined) return
    this.#options.sink.miss(this.#exchange, market, this.#context.clock.now())
    this.#tradingStatus.seedNext(market)
  }

  #receiveTick(tick: Tick, connection: Connection): void {
    if (tick.origin === 'stream') this.#noteData(tick, connection)
    else this.#tradingStatus.answeredAt = tick.receivedAt
    this.#options.sink.record(tick)
  }

  /** Tells the sink what may have been lost before this frame. */
  #noteData(tick: Tick, connection: Connection): void {
    const { sink } = this.#options
    const { receivedAt } = tick
    const isOther = connection !== this.#reading
    const data = { receivedAt, isLate: sink.isLate(tick) }
    const openedAt = isOther ? (connection.openedAt ?? receivedAt) : undefined
    const shown = interruptionAt({ ...data, openedAt }, this.#lastData)
    this.#lastData = data
    if (isOther) this.#read(connection)
    if (shown === undefined) return
    const { isSilence, isSeedWanted, ...interruption } = shown
    if (isSilence) this.#counters.silences += 1
    sink.interrupted({ exchange: this.#exchange, ...interruption })
    // A new connection of Upbit begins with snapshots, and one of Binance with seeds.
    if (isSeedWanted) this.#tradingStatus.seed(this.#markets)
  }

  /** Reads this connection from now on, and closes all others. */
  #read(connection: Connection): void {
    if (this.#reading?.signal.aborted === true) this.#counters.reconnects += 1
    this.#reading = connection
    for (const other of this.#connections) if (other !== connection) void other.close()
  }
}

/** How long a planned successor waits, so that it costs no minute. */
function untilSuccessor(now: EpochMs): Milliseconds {
  const second = now % MINUTE_MS
  if (second >= SUCCESSOR_FROM_MS && second < SUCCESSOR_UNTIL_MS) return 0
  return (SUCCESSOR_FROM_MS - second + MINUTE_MS) % MINUTE_MS
}
