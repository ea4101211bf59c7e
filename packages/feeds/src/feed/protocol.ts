import type { EpochMs, Exchange, Market, Milliseconds, Tick } from '@kimchi/core'

/**
 * What an exchange supplies so that the one feed can speak to it: plain values and pure functions, no
 * sockets. A test changes a limit with `{ ...binanceProtocol(url), maxAgeMs: 2_000 }`.
 * @see docs/exchanges.md
 */
export interface Protocol {
  readonly exchange: Exchange
  /** Where the exchange answers, the first choice first. */
  readonly bases: readonly string[]
  /** The WebSocket address at one of the bases. */
  urlOf(base: string): string
  /** The most markets one connection may carry. */
  readonly maxMarkets: number
  /**
   * The messages that turn the subscription from `previous` (empty on a new connection) into `next`.
   * @param id a number that no other message of the connection has
   */
  subscribe(previous: readonly Market[], next: readonly Market[], id: number): readonly string[]
  /** A decoder for one connection; it may remember what that connection has sent. */
  createDecoder(): Decoder
  /** A connection without a data frame for this long is stale; pongs, acks and status frames don't count. */
  readonly maxSilenceMs: Milliseconds
  /** A connection older than this is replaced by a new one, which is opened first; undefined for never. */
  readonly maxAgeMs: Milliseconds | undefined
  /** Our own WebSocket pings; undefined when the exchange pings us and an answer is enough. */
  readonly keepalive: Keepalive | undefined
  /** Least time between two groups of our messages on one connection, from the exchange's rate limits. */
  readonly sendSpacingMs: Milliseconds
  /** Least time between two connection attempts, from the exchange's rate limits. */
  readonly connectSpacingMs: Milliseconds
}

/** Our own pings and how long the answer may take. */
export interface Keepalive {
  readonly pingEveryMs: Milliseconds
  readonly pongWithinMs: Milliseconds
}

/** Turns the frames of one connection into ticks. Never throws, whatever the frame holds. */
export interface Decoder {
  /**
   * The markets wanted from now on; frames of others are ignored. What is known of forgotten ones is dropped.
   */
  setMarkets(markets: readonly Market[]): void
  decode(frame: Buffer | string, receivedAt: EpochMs): Decoded
}

/** What one frame was. */
export type Decoded =
  /** `unknownState`: a word for the market's state that no document has; it reads as trading. */
  | { readonly kind: 'tick'; readonly tick: Tick; readonly unknownState?: string }
  /** A market that does not trade and has no last trade to show. */
  | { readonly kind: 'halted'; readonly market: Market }
  /** An answer to one of our messages, or a heartbeat. */
  | { readonly kind: 'ack' }
  /** Well formed, but of no use here: another channel, a market that is not subscribed. */
  | { readonly kind: 'ignored' }
  /** The exchange is about to close this connection. */
  | { readonly kind: 'shutdown' }
  /** The exchange complains about us; `refusesMarkets`: about a market in our subscription. */
  | { readonly kind: 'error'; readonly message: string; readonly refusesMarkets: boolean }
  /** Dropped: not what the exchange documents. `reason` names field and value. */
  | { readonly kind: 'malformed'; readonly reason: string }

export const ACK: Decoded = { kind: 'ack' }
export const IGNORED: Decoded = { kind: 'ignored' }
export const SHUTDOWN: Decoded = { kind: 'shutdown' }
