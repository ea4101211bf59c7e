import {
  type Context,
  type EpochMs,
  KimchiError,
  type Milliseconds,
  messageOf,
  RATE_MARKET,
} from '@kimchi/core'
import type { Bases } from '../bases.ts'
import { createConnectionBudget, isBlocked, retryDelay } from './backoff.ts'
import { Connection, isLive } from './connection.ts'
import type { FeedCounters, FeedState } from './feed-status.ts'
import type { MarketSearch } from './market-search.ts'
import type { Decoded, Protocol } from './protocol.ts'

/** A connection that breaks sooner does not reset the backoff: an exchange that keeps dropping us needs rest. */
const HEALTHY_MS: Milliseconds = 60_000

/** How long the old connection stays open after the first data frame of the new one. */
const OVERLAP_MS: Milliseconds = 1_000

/** Time between two lists that a search tries. */
const PROBE_MS: Milliseconds = 1_000

/** A list that brings no snapshot, because its markets never traded, counts as accepted after so many probes. */
const PROBES_WITHOUT_SNAPSHOT = 3

/** What a feed's connections are opened with. */
export interface ConnectionLoopOptions {
  readonly protocol: Protocol
  readonly userAgent: string
  readonly bases: Bases
  readonly search: MarketSearch
  readonly counters: FeedCounters
  readonly onFrame: (decoded: Decoded, connection: Connection) => void
  /** No connection is live any more; the data is complete until `lostAt`. */
  readonly onBroken: (lostAt: EpochMs) => void
  readonly onRefusedMarkets: () => void
}

/**
 * Keeps an exchange's data coming, until its context's signal aborts. Reconnects with jittered backoff and
 * within a budget, at the next base where one refuses; opens a successor before it closes a connection that
 * grows old or is about to be closed by the exchange; searches for the market because of which the exchange
 * refuses the others.
 */
export class ConnectionLoop {
  readonly #options: ConnectionLoopOptions
  readonly #context: Context
  readonly #connections = new Set<Connection>()
  readonly #spendConnection: () => Promise<void>
  readonly #running: Promise<void>
  /** When another connection may be opened. */
  #spaced: Promise<void> = Promise.resolve()
  #phase: FeedState = 'connecting'
  #failures = 0

  constructor(options: ConnectionLoopOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.#spendConnection = createConnectionBudget(context)
    this.#running = this.#run()
  }

  get state(): FeedState {
    if (this.#context.signal.aborted) return 'closed'
    return this.#live === undefined ? this.#phase : 'up'
  }

  /** Subscribes every connection to the markets that the search allows now. */
  resubscribe(): void {
    for (const connection of this.#connections) connection.setMarkets(this.#options.search.subscribed)
  }

  /** Sends the subscription of the newest live connection again, for its snapshots. */
  renewSubscription(): void {
    this.#live?.renewSubscription()
  }

  /** Resolves when every socket is closed; the context's signal must have been aborted. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections].map(connection => connection.close()))
    await this.#running
  }

  get #live(): Connection | undefined {
    return [...this.#connections].findLast(isLive)
  }

  async #run(): Promise<void> {
    const { clock, signal } = this.#context
    const { bases } = this.#options
    while (!signal.aborted) {
      let delayMs: Milliseconds
      try {
        const connection = await bases.request(base => this.#connectUntilLive(base), signal)
        const isHealthy = await this.#untilOver(connection)
        if (isHealthy) this.#failures = 0
        const { error, refusesMarkets } = connection.state.ending ?? {}
        if (refusesMarkets === true && this.#tryOtherList()) delayMs = PROBE_MS
        // It is due, and stays open until its successor is live. An unhealthy one must not start a storm.
        else delayMs = isHealthy && error === undefined ? 0 : this.#backOff(error)
      } catch (error) {
        delayMs = this.#backOff(error)
      }
      if (delayMs > 0) await clock.wait(delayMs, signal)
    }
  }

  /** Resolves with a connection that brings data; rejects when it ends before it does. */
  async #connectUntilLive(base: string): Promise<Connection> {
    const { clock, signal } = this.#context
    await this.#spaced
    await this.#spendConnection()
    signal.throwIfAborted()
    this.#spaced = clock.wait(this.#options.protocol.connectSpacingMs, signal)
    this.#phase = 'connecting'
    const connection = this.#connect(base)
    await connection.reached('live')
    const { error, refusesMarkets, wasLive } = connection.state.ending ?? { wasLive: true }
    if (wasLive) return connection
    if (refusesMarkets !== true || !this.#tryOtherList()) throw error ?? signal.reason
    await clock.wait(PROBE_MS, signal)
    return this.#connectUntilLive(base)
  }

  #connect(base: string): Connection {
    const { protocol, userAgent, search, counters, onFrame } = this.#options
    counters.attempts += 1
    const options = { protocol, base, userAgent, markets: search.subscribed, onFrame }
    const connection = new Connection(options, this.#context)
    this.#connections.add(connection)
    void connection.reached('open').then(() => this.#opened(connection))
    void connection.reached('ended').then(() => this.#lose(connection))
    void connection.reached('closed').then(() => this.#connections.delete(connection))
    return connection
  }

  /** Counts the connection. While a search is on, adds what it holds back to the list, group by group. */
  async #opened(connection: Connection): Promise<void> {
    const { counters, search } = this.#options
    const { clock, signal } = this.#context
    if (connection.state.openedAt === undefined) return
    counters.connections += 1
    for (let probes = 1; search.isSearching; probes += 1) {
      await clock.wait(PROBE_MS, signal)
      if (signal.aborted || connection.state.ending !== undefined) return
      if (!search.isTrialProven && probes < PROBES_WITHOUT_SNAPSHOT) continue
      search.accept()
      connection.setMarkets(search.subscribed)
      probes = 0
    }
  }

  /** Resolves when a live connection has ended or is due: true when it was live for {@link HEALTHY_MS}. */
  async #untilOver(connection: Connection): Promise<boolean> {
    this.#replaceOthers(connection)
    const { clock, signal } = this.#context
    const over = connection.reached('due')
    const healthy = clock.wait(HEALTHY_MS, signal).then(() => true)
    const isHealthy = await Promise.race([over.then(() => false), healthy])
    await over
    return isHealthy
  }

  #backOff(error: unknown): Milliseconds {
    const { random, log, signal } = this.#context
    if (signal.aborted) return 0
    const failures = this.#failures++
    const delayMs = retryDelay(failures, random, error)
    this.#phase = isBlocked(error) ? 'blocked' : 'waiting'
    if (error === undefined) return delayMs
    const { exchange } = this.#options.protocol
    const code = error instanceof KimchiError ? error.code : undefined
    const fields = { exchange, code, error: messageOf(error), failures, delayMs: Math.round(delayMs) }
    if (isBlocked(error)) log.error(fields, 'blocked by the exchange')
    else log.warn(fields, 'no data from the exchange, reconnecting')
    return delayMs
  }

  /** Halves the refused list. False when the exchange refuses the rate itself: no list would work. */
  #tryOtherList(): boolean {
    const { search, protocol, onRefusedMarkets } = this.#options
    if (search.isHopeless) return false
    const { clock, log } = this.#context
    const market = search.reject(clock.now())
    onRefusedMarkets()
    const fields = { exchange: protocol.exchange, market }
    if (market === RATE_MARKET) log.error(fields, 'the exchange refuses the rate: no samples')
    else if (market !== undefined)
      log.warn(fields, 'the exchange refuses a market: it is left out for an hour')
    return !search.isHopeless
  }

  /** Closes the older connections, now that a new one brings data. */
  #replaceOthers(connection: Connection): void {
    const { protocol, counters, search } = this.#options
    const { log, clock, signal } = this.#context
    const others = [...this.#connections].filter(other => other !== connection)
    const replaced = others.some(isLive)
    if (replaced) counters.replacements += 1
    log.info({ exchange: protocol.exchange, replaced, markets: search.subscribed.length }, 'feed is up')
    if (others.length === 0) return
    void clock.wait(OVERLAP_MS, signal).then(() => {
      // If the new one has broken meanwhile, the old one is all we have.
      if (isLive(connection)) for (const other of others) void other.close()
    })
  }

  /** Counts an ending that is not ours, and reports it where no other connection is live. */
  #lose({ state: { ending } }: Connection): void {
    const { counters, onBroken } = this.#options
    const error = ending?.error
    if (error === undefined) return
    if (error.code === 'KIMCHI_ERR_FEED_STALLED') counters.stalls += 1
    if (error.code === 'KIMCHI_ERR_FRAME') counters.drop(error.message)
    const isReplaced = ending?.wasLive && this.#live !== undefined
    if (this.#context.signal.aborted || isReplaced) return
    counters.remember(error)
    if (ending?.wasLive) onBroken(ending.lostAt)
  }
}
