import {
  type Context,
  type EpochMs,
  isWorthALine,
  KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import { Bases } from '../bases.ts'
import { isBlocked } from '../http-error.ts'
import { Retry } from '../retry.ts'
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts'
import { createConnectionBudget } from './connection-budget.ts'
import { SubscriptionRefused } from './connection-errors.ts'
import type { FeedCounters } from './feed-status.ts'
import type { Decoded } from './protocol.ts'

/**
 * A connection that breaks sooner is a failure of its base, and does not reset the backoff: an exchange that keeps
 * dropping us needs rest.
 */
const HEALTHY_MS: Milliseconds = 60_000

/** Where in a minute a planned successor is opened, so that its first prices are there before the minute ends. */
const SUCCESSOR_FROM_MS: Milliseconds = 10_000
const SUCCESSOR_UNTIL_MS: Milliseconds = 40_000

export interface ConnectionLoopOptions
  extends Pick<ConnectionOptions, 'protocol' | 'userAgent' | 'openSocket'> {
  readonly bases: string | readonly string[]
  readonly markets: () => readonly Market[]
  readonly onFrame: (decoded: Decoded, connection: Connection) => void
  readonly onRefused?: (() => void) | undefined
  readonly counters: FeedCounters
}

/**
 * The connections to one exchange. Connects at a base that works, waits until the connection ends or is due, backs
 * off. Where it is due, its successor is opened first.
 */
export class ConnectionLoop {
  readonly bases: Bases
  /** Set between two attempts. */
  betweenAttempts: 'waiting' | 'blocked' | undefined
  readonly #options: ConnectionLoopOptions
  readonly #context: Context
  readonly #retry: Retry
  readonly #spendConnection: () => Promise<void>
  readonly #connections = new Set<Connection>()
  /** Ends the wait after a refused subscription. */
  #changed = new AbortController()

  constructor(options: ConnectionLoopOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.bases = new Bases(options.protocol.exchange, 'stream', options.bases, context)
    this.#retry = new Retry(context)
    this.#spendConnection = createConnectionBudget(context)
  }

  /** Connects again and again, until the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    while (!signal.aborted) {
      let reason: unknown
      try {
        const { connection, base } = await this.bases.request(base => this.#connect(base))
        const liveFrom = clock.elapsed()
        reason = await this.#untilOver(connection)
        const isHealthy = clock.elapsed() - liveFrom >= HEALTHY_MS
        if (isHealthy) this.#retry.reset()
        else if (reason !== undefined) this.bases.failed(base, reason)
        // A connection that is due stays open until its successor is live. One that has just begun waits first: a
        // base whose connections are due at once must not start a storm of them.
        if (isHealthy && reason === undefined) continue
      } catch (error) {
        reason = error
      }
      if (!signal.aborted) await this.#backOff(reason)
    }
  }

  /** Changes the subscriptions on all open connections. */
  setMarkets(markets: readonly Market[]): void {
    for (const connection of this.#connections) connection.setMarkets(markets)
    this.#changed.abort()
  }

  /** Closes all connections but this one. Resolves when their sockets are closed. */
  async close(kept?: Connection): Promise<void> {
    if (kept === undefined) this.#changed.abort()
    const others = [...this.#connections].filter(connection => connection !== kept)
    await Promise.all(others.map(connection => connection.close()))
  }

  /** Opens a connection. Resolves when it brings data, rejects when it ends before it does. */
  async #connect(base: string): Promise<{ connection: Connection; base: string }> {
    const { log, signal } = this.#context
    const { protocol, userAgent, openSocket, markets, counters, onFrame } = this.#options
    const { exchange } = protocol
    await this.#spendConnection()
    signal.throwIfAborted()
    this.betweenAttempts = undefined
    counters.attempts += 1
    const connection: Connection = openConnection(
      {
        protocol,
        base,
        userAgent,
        openSocket,
        markets: markets(),
        onFrame: decoded => onFrame(decoded, connection),
      },
      this.#context,
    )
    this.#connections.add(connection)
    void connection.ended.then(error => this.#noteEnd(connection, error))
    await connection.live
    if (connection.signal.aborted) throw (await connection.ended) ?? signal.reason
    if (isWorthALine(this.#retry.failures)) log.info({ exchange, markets: markets().length }, 'feed is up')
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
    this.betweenAttempts = isBlocked(reason) ? 'blocked' : 'waiting'
    if (reason !== undefined) {
      const code = reason instanceof KimchiError ? reason.code : undefined
      const error = messageOf(reason)
      const fields = {
        exchange: this.#options.protocol.exchange,
        code,
        error,
        failures,
        delayMs: Math.round(delayMs),
      }
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
    const { counters, onRefused } = this.#options
    if (error instanceof SubscriptionRefused) onRefused?.()
    if (error.code === 'KIMCHI_ERR_FRAME') counters.countFailure('malformed', error)
    else counters.remember(error)
  }
}

/** How long a planned successor waits, so that it costs no minute. */
function untilSuccessor(now: EpochMs): Milliseconds {
  const second = now % MINUTE_MS
  if (second >= SUCCESSOR_FROM_MS && second < SUCCESSOR_UNTIL_MS) return 0
  return (SUCCESSOR_FROM_MS - second + MINUTE_MS) % MINUTE_MS
}
