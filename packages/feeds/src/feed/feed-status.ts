import {
  type Clock,
  type EpochMs,
  type Exchange,
  isWorthALine,
  KimchiError,
  type KimchiErrorCode,
  type Log,
  messageOf,
} from '@kimchi/core'

/**
 * `connecting`: a handshake or the first data frame is awaited; `up`: data flows; `waiting`: between two attempts;
 * `blocked`: the exchange has shut us out (403, 418, 451) and is asked again rarely; `closed`: by us, for good.
 */
export type FeedState = 'connecting' | 'up' | 'waiting' | 'blocked' | 'closed'

/** How a feed is doing, for /ready, /metrics and the status hash. Counters run since the feed was opened. */
export interface FeedStatus {
  readonly exchange: Exchange
  readonly state: FeedState
  /** When the connection in use was opened; undefined when there is none. */
  readonly connectedAt: EpochMs | undefined
  /** When the last data frame came, on whichever connection. */
  readonly lastDataAt: EpochMs | undefined
  /** Markets asked for, the reference markets included. */
  readonly markets: number
  /** Handshakes that succeeded. */
  readonly connections: number
  /** Times that data came back after it had broken off. */
  readonly reconnects: number
  /** Connections replaced while they still worked. */
  readonly replacements: number
  readonly frames: number
  readonly ticks: number
  /** Well-formed frames of no use, answers and signs of life among them. */
  readonly ignored: number
  /** Frames, or entries of a list, that were dropped as broken. */
  readonly malformed: number
  /** Connections that fell silent while open. */
  readonly stalls: number
  readonly seedsOk: number
  readonly seedsFailed: number
  readonly lastError: FeedError | undefined
}

/** The last thing that went wrong, kept after it is over. */
export interface FeedError {
  readonly code: KimchiErrorCode
  readonly message: string
  readonly at: EpochMs
}

type Count =
  | 'connections'
  | 'reconnects'
  | 'replacements'
  | 'frames'
  | 'ticks'
  | 'ignored'
  | 'malformed'
  | 'stalls'
  | 'seedsOk'
  | 'seedsFailed'

/** The counters of one feed, and the log lines that go with them. */
export class FeedCounters {
  readonly counts: Record<Count, number> = {
    connections: 0,
    reconnects: 0,
    replacements: 0,
    frames: 0,
    ticks: 0,
    ignored: 0,
    malformed: 0,
    stalls: 0,
    seedsOk: 0,
    seedsFailed: 0,
  }
  lastError: FeedError | undefined
  readonly #exchange: Exchange
  readonly #clock: Clock
  readonly #log: Log

  constructor(exchange: Exchange, clock: Clock, log: Log) {
    this.#exchange = exchange
    this.#clock = clock
    this.#log = log
  }

  /** Counts a broken frame; the first is logged, later ones only at round numbers. */
  drop(reason: string): void {
    const count = ++this.counts.malformed
    this.remember(new KimchiError('KIMCHI_ERR_FRAME', reason))
    if (!isWorthALine(count)) return
    this.#log.warn({ exchange: this.#exchange, malformed: count, reason }, 'dropped a malformed frame')
  }

  /** Keeps an error as the last one. */
  remember(cause: unknown): void {
    const code = cause instanceof KimchiError ? cause.code : 'KIMCHI_ERR_REST'
    this.lastError = { code, message: messageOf(cause), at: this.#clock.now() }
  }
}
