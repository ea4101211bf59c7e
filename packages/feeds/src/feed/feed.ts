import {
  type Context,
  type EpochMs,
  type Exchange,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  REFERENCE_MARKETS,
  type Tick,
} from '@kimchi/core'
import { isBlocked, retryDelay } from './backoff.ts'
import { type Connection, type Ending, openConnection } from './connection.ts'
import { createFeedCounters, type FeedCounters, type FeedState, type FeedStatus } from './feed-status.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { openSeeding, type Seed } from './seeding.ts'

/** What a feed is opened with. */
export interface FeedOptions {
  readonly protocol: Protocol
  /** The exchange's own codes; the reference markets are added by the feed. */
  readonly markets: readonly Market[]
  /**
   * Takes each tick, synchronously, straight from the socket. A callback and not an async iterator: at thousands of frames
   * a second a promise per tick costs more than its decoding. Must not throw.
   */
  readonly onTick: (tick: Tick) => void
  /** The data broke off at `at`, and no other connection carries it: feed this to `LatestTicks.lost`. */
  readonly onLost: (exchange: Exchange, at: EpochMs) => void
  /** Present prices after each connect, where the exchange's stream begins without them. */
  readonly seed?: Seed
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
 * Opens the feed of one exchange: connects, subscribes, and keeps data coming until it is closed. Reconnects with jittered
 * backoff; replaces a connection that grows old, or is about to be closed by the exchange, after its successor carries data.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when there are more markets than one connection may carry
 * @see docs/architecture.md#ingester
 */
export function openFeed(options: FeedOptions, context: FeedContext): Feed {
  return new ReconnectingFeed(options, context)
}

const TIMING: FeedTiming = { handshakeTimeoutMs: 10_000, overlapMs: 1_000, closeGraceMs: 500 }

class ReconnectingFeed implements Feed {
  readonly #options: FeedOptions
  readonly #context: FeedContext
  readonly #timing: FeedTiming
  readonly #exchange: Exchange
  readonly #counters: FeedCounters
  readonly #stop = new AbortController()
  readonly #connections = new Set<Connection>()
  /** How each connection asks for seeds. */
  readonly #seeding = new WeakMap<Connection, (markets: readonly Market[]) => void>()
  readonly #running: Promise<void>
  #markets: readonly Market[]
  #phase: 'connecting' | 'waiting' | 'blocked' = 'connecting'
  #lastDataAt: EpochMs | undefined
  #wasUp = false

  constructor(options: FeedOptions, context: FeedContext) {
    this.#options = options
    this.#context = context
    this.#exchange = options.protocol.exchange
    this.#timing = { ...TIMING, ...options.timing }
    this.#counters = createFeedCounters(this.#exchange, context)
    this.#markets = withReferenceMarkets(options.protocol, options.markets)
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#context
    let failures = 0
    while (!this.#stop.signal.aborted) {
      const spaced = clock.wait(this.#options.protocol.connectSpacingMs, this.#stop.signal)
      this.#phase = 'connecting'
      const connection = this.#connect()
      if (await connection.live) {
        failures = 0
        this.#takeOver(connection)
        await Promise.race([connection.ended, connection.due])
      }
      // Still open means due: its successor is opened while it goes on.
      if (connection.signal.aborted && !this.#stop.signal.aborted) {
        const { error } = await connection.ended
        const delayMs = retryDelay(failures, random, error)
        this.#phase = isBlocked(error) ? 'blocked' : 'waiting'
        this.#logRetry(error, failures, delayMs)
        failures += 1
        await clock.wait(delayMs, this.#stop.signal)
      }
      await spaced
    }
  }

  #connect(): Connection {
    const connection = openConnection(
      {
        ...this.#timing,
        protocol: this.#options.protocol,
        markets: this.#markets,
        onOpen: opened => this.#startSeeding(opened),
        onFrame: decoded => this.#take(decoded),
      },
      this.#context,
    )
    this.#connections.add(connection)
    void connection.ended.then(ending => this.#lose(connection, ending))
    void connection.closed.then(() => this.#connections.delete(connection))
    return connection
  }

  #take(decoded: Decoded): void {
    const { counts } = this.#counters
    counts.frames += 1
    if (decoded.kind === 'tick') this.#emit(decoded.tick)
    else if (decoded.kind === 'malformed') this.#counters.drop(decoded.reason)
    else counts.ignored += 1
  }

  #emit(tick: Tick): void {
    this.#counters.counts.ticks += 1
    this.#options.onTick(tick)
  }

  /** The new connection carries data: whatever came before it may go. */
  #takeOver(connection: Connection): void {
    const { log, clock } = this.#context
    const others = [...this.#connections].filter(other => other !== connection)
    const isReplacement = others.some(other => other.carrying)
    if (isReplacement) this.#counters.counts.replacements += 1
    else if (this.#wasUp) this.#counters.counts.reconnects += 1
    this.#wasUp = true
    log.info(
      { exchange: this.#exchange, replaced: isReplacement, markets: this.#markets.length },
      'feed is up',
    )
    if (others.length === 0) return
    void clock.wait(this.#timing.overlapMs, this.#stop.signal).then(() => {
      // When the new one has broken already, the old one is still the better of the two.
      if (connection.carrying) for (const other of others) void other.close()
    })
  }

  #lose(connection: Connection, { error, lostAt, hadData }: Ending): void {
    if (connection.lastDataAt !== undefined) {
      this.#lastDataAt = Math.max(this.#lastDataAt ?? 0, connection.lastDataAt)
    }
    if (error.code === 'KIMCHI_ERR_FEED_STALLED') this.#counters.counts.stalls += 1
    if (error.code === 'KIMCHI_ERR_FRAME') this.#counters.drop(error.message)
    if (this.#stop.signal.aborted) return
    const isCarried = [...this.#connections].some(other => other.carrying)
    if (!isCarried || !hadData) this.#counters.remember(error)
    if (!isCarried && hadData) this.#options.onLost(this.#exchange, lostAt)
  }

  #logRetry(error: KimchiError, failures: number, delayMs: Milliseconds): void {
    const fields = {
      exchange: this.#exchange,
      code: error.code,
      error: error.message,
      failures,
      delayMs: Math.round(delayMs),
    }
    if (isBlocked(error)) this.#context.log.error(fields, 'the exchange shuts us out')
    else this.#context.log.warn(fields, 'no data from the exchange, will connect again')
  }

  #startSeeding(connection: Connection): void {
    const { counts } = this.#counters
    counts.connections += 1
    const { seed } = this.#options
    if (seed === undefined) return
    const ask = openSeeding(
      {
        seed,
        onTicks: ticks => {
          counts.seedsOk += 1
          for (const tick of ticks) this.#takeSeed(connection, tick)
        },
        onFailure: cause => {
          counts.seedsFailed += 1
          this.#counters.remember(cause)
          const fields = { exchange: this.#exchange, error: messageOf(cause) }
          this.#context.log.warn(fields, 'seed failed, will be tried again')
        },
      },
      { ...this.#context, signal: connection.signal },
    )
    this.#seeding.set(connection, ask)
    ask(this.#markets)
  }

  #takeSeed(connection: Connection, tick: Tick): void {
    if (!this.#markets.includes(tick.market)) return
    connection.decoder.seed(tick)
    this.#emit(tick)
  }

  setMarkets(markets: readonly Market[]): void {
    const known = new Set(this.#markets)
    this.#markets = withReferenceMarkets(this.#options.protocol, markets)
    const added = this.#markets.filter(market => !known.has(market))
    for (const connection of this.#connections) {
      connection.setMarkets(this.#markets)
      this.#seeding.get(connection)?.(added)
    }
  }

  status(): FeedStatus {
    const carrying = [...this.#connections].findLast(connection => connection.carrying)
    return {
      exchange: this.#exchange,
      state: this.#state(carrying !== undefined),
      lastDataAt: carrying?.lastDataAt ?? this.#lastDataAt,
      markets: this.#markets.length,
      ...this.#counters.counts,
      lastError: this.#counters.lastError,
    }
  }

  #state(carrying: boolean): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    return carrying ? 'up' : this.#phase
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
  const all = [...new Set([...REFERENCE_MARKETS[exchange], ...markets])]
  if (all.length <= maxMarkets) return all
  throw new KimchiError(
    'KIMCHI_ERR_CONFIG',
    `${exchange} markets must be at most ${maxMarkets} on one connection, got: ${all.length}`,
  )
}
