import {
  type Context,
  type EpochMs,
  type Exchange,
  isWorthALine,
  KimchiError,
  type KimchiErrorCode,
  type Market,
  messageOf,
} from '@kimchi/core'
import type { BasesStatus } from '../bases.ts'

/**
 * `connecting`: a handshake or the first data frame is awaited; `up`: data flows; `waiting`: between two
 * attempts; `blocked`: the exchange has shut us out (418, 451) and is asked again rarely; `closed`: by us,
 * for good.
 */
export type FeedState = 'connecting' | 'up' | 'waiting' | 'blocked' | 'closed'

/** How a feed is doing, for /ready, /metrics and the status hash. Counters run since the feed was opened. */
export interface FeedStatus {
  readonly exchange: Exchange
  readonly state: FeedState
  /** Where it connects to. */
  readonly base: BasesStatus
  /** Markets that the exchange refuses to stream; the others go on. */
  readonly refusedMarkets: readonly Market[]
  /** When the last data frame came, on whichever connection. */
  readonly lastDataAt: EpochMs | undefined
  /** When the exchange last told which markets trade; when the feed was opened before it first did. */
  readonly statusAt: EpochMs
  /** Markets asked for, the reference markets included. */
  readonly markets: number
  /** Connections tried. */
  readonly attempts: number
  /** Handshakes that succeeded. */
  readonly connections: number
  /** Times that data came back after it had broken off. */
  readonly reconnects: number
  /** Connections replaced while they still worked. */
  readonly replacements: number
  /** Silences of more than 3 s on an open connection. */
  readonly silences: number
  readonly frames: number
  readonly ticks: number
  /** Well-formed frames of no use, acknowledgements and heartbeats among them. */
  readonly ignored: number
  /** Frames that were dropped as broken. */
  readonly malformed: number
  /** Connections that fell silent while open, and were given up. */
  readonly stalls: number
  /** Requests for the trading status that failed. */
  readonly statusFailures: number
  readonly lastError: FeedError | undefined
}

/** The last thing that went wrong, kept after it is over. */
interface FeedError {
  readonly code: KimchiErrorCode
  readonly message: string
  readonly at: EpochMs
}

type Count = {
  [K in keyof FeedStatus]: FeedStatus[K] extends number
    ? K extends 'markets' | 'statusAt'
      ? never
      : K
    : never
}[keyof FeedStatus]

/** The counters of one feed, and the log lines that go with them. */
export interface FeedCounters {
  readonly counts: Record<Count, number>
  readonly lastError: FeedError | undefined
  /** Counts a broken frame; the first is logged, later ones only at round numbers. */
  drop(reason: string): void
  /** Keeps an error as the last one. */
  remember(cause: unknown): void
}

/** Counters that stand at 0. */
export function createFeedCounters(
  exchange: Exchange,
  { clock, log }: Pick<Context, 'clock' | 'log'>,
): FeedCounters {
  let lastError: FeedError | undefined
  const remember = (cause: unknown): void => {
    const code = cause instanceof KimchiError ? cause.code : 'KIMCHI_ERR_REST'
    lastError = { code, message: messageOf(cause), at: clock.now() }
  }
  const counts = {
    attempts: 0,
    connections: 0,
    reconnects: 0,
    replacements: 0,
    silences: 0,
    frames: 0,
    ticks: 0,
    ignored: 0,
    malformed: 0,
    stalls: 0,
    statusFailures: 0,
  }
  return {
    counts,
    get lastError() {
      return lastError
    },
    drop: reason => {
      const malformed = ++counts.malformed
      remember(new KimchiError('KIMCHI_ERR_FRAME', reason))
      if (isWorthALine(malformed)) log.warn({ exchange, malformed, reason }, 'dropped a malformed frame')
    },
    remember,
  }
}
