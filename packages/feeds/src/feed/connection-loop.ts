import {
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
import { Connection, type Ending } from './connection.ts'
import type { Feed, FeedOptions, FeedTiming } from './feed.ts'
import { FeedCounters, type FeedState, type FeedStatus } from './feed-status.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { openSeeding } from './seeding.ts'

const TIMING: FeedTiming = { handshakeTimeoutMs: 10_000, overlapMs: 1_000, closeGraceMs: 500 }

/** The only connection loop of the project. See `openFeed`. */
export class ConnectionLoop implements Feed {
  readonly #options: FeedOptions
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

  constructor(options: FeedOptions) {
    this.#options = options
    this.#exchange = options.protocol.exchange
    this.#timing = { ...TIMING, ...options.timing }
    this.#counters = new FeedCounters(this.#exchange, options.clock, options.log)
    this.#markets = withReferenceMarkets(options.protocol, options.markets)
    this.#running = this.#run()
  }

  status(): FeedStatus {
    const carrying = [...this.#connections].findLast(connection => connection.carrying)
    return {
      exchange: this.#exchange,
      state: this.#state(carrying !== undefined),
      connectedAt: carrying?.openedAt,
      lastDataAt: carrying?.lastDataAt ?? this.#lastDataAt,
      markets: this.#markets.length,
      ...this.#counters.counts,
      lastError: this.#counters.lastError,
    }
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

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#connections].map(connection => connection.close()))
    await this.#running
  }

  async #run(): Promise<void> {
    const { protocol, clock, random } = this.#options
    let failures = 0
    while (!this.#stop.signal.aborted) {
      const spaced = clock.wait(protocol.connectSpacingMs, this.#stop.signal)
      this.#phase = 'connecting'
      const connection = this.#open()
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

  #open(): Connection {
    const { protocol, clock, random } = this.#options
    const connection = new Connection({
      protocol,
      markets: this.#markets,
      clock,
      random,
      handshakeTimeoutMs: this.#timing.handshakeTimeoutMs,
      closeGraceMs: this.#timing.closeGraceMs,
      onOpen: opened => this.#opened(opened),
      onDecoded: decoded => this.#count(decoded),
    })
    this.#connections.add(connection)
    void connection.ended.then(ending => this.#ended(connection, ending))
    void connection.closed.then(() => this.#connections.delete(connection))
    return connection
  }

  #opened(connection: Connection): void {
    this.#counters.counts.connections += 1
    const { seed, clock, random, log } = this.#options
    if (seed === undefined) return
    const { counts } = this.#counters
    const ask = openSeeding({
      seed,
      clock,
      random,
      signal: connection.signal,
      onTicks: ticks => {
        counts.seedsOk += 1
        for (const tick of ticks) this.#takeSeed(connection, tick)
      },
      onFailure: cause => {
        counts.seedsFailed += 1
        this.#counters.remember(cause)
        log.warn({ exchange: this.#exchange, error: messageOf(cause) }, 'seed failed, will be tried again')
      },
    })
    this.#seeding.set(connection, ask)
    ask(this.#markets)
  }

  #takeSeed(connection: Connection, tick: Tick): void {
    if (!this.#markets.includes(tick.market)) return
    connection.decoder.seed(tick)
    this.#emit(tick)
  }

  #count(decoded: Decoded): void {
    const { counts } = this.#counters
    counts.frames += 1
    if (decoded.kind === 'ticks') {
      for (const tick of decoded.ticks) this.#emit(tick)
      if (decoded.malformed !== undefined) this.#counters.drop(decoded.malformed)
    } else if (decoded.kind === 'malformed') {
      this.#counters.drop(decoded.reason)
    } else {
      counts.ignored += 1
    }
  }

  #emit(tick: Tick): void {
    this.#counters.counts.ticks += 1
    this.#options.onTick(tick)
  }

  /** The new connection carries data: whatever came before it may go. */
  #takeOver(connection: Connection): void {
    const { log, clock } = this.#options
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

  #ended(connection: Connection, { error, lostAt, hadData }: Ending): void {
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

  #state(carrying: boolean): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    return carrying ? 'up' : this.#phase
  }

  #logRetry(error: KimchiError, failures: number, delayMs: Milliseconds): void {
    const fields = {
      exchange: this.#exchange,
      code: error.code,
      error: error.message,
      failures,
      delayMs: Math.round(delayMs),
    }
    if (isBlocked(error)) this.#options.log.error(fields, 'the exchange shuts us out')
    else this.#options.log.warn(fields, 'no data from the exchange, will connect again')
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
