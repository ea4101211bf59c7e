import { type Context, type EpochMs, type Exchange, isWorthALine, messageOf } from '@kimchi/core'

/**
 * `connecting`: waiting for a handshake or for the first data frame; `up`: data flows; `waiting`: between two
 * attempts; `blocked`: the exchange has shut us out (418, 451), so the next attempt is minutes away; `closed`:
 * we have closed the feed.
 */
export type FeedState = 'connecting' | 'up' | 'waiting' | 'blocked' | 'closed'

/** What a feed counts from its opening on, and its last error. */
export class FeedCounters {
  /** Times that data came back after it had broken off. */
  reconnects = 0
  /** Silences of more than 3 s on an open connection. */
  silences = 0
  /** Frames that were dropped as broken. */
  malformed = 0
  /** Kept after it is over. */
  lastError: { readonly message: string; readonly at: EpochMs } | undefined
  readonly #exchange: Exchange
  readonly #context: Pick<Context, 'clock' | 'log'>

  constructor(exchange: Exchange, context: Pick<Context, 'clock' | 'log'>) {
    this.#exchange = exchange
    this.#context = context
  }

  /** Counts a broken frame. The 1st, 10th, 100th and 1,000th get a line, then every 10,000th. */
  countMalformed(cause: unknown): void {
    this.malformed += 1
    this.remember(cause)
    const fields = { exchange: this.#exchange, malformed: this.malformed, reason: messageOf(cause) }
    if (isWorthALine(this.malformed)) this.#context.log.warn(fields, 'dropped a malformed frame')
  }

  /** Keeps an error for `/ready` to name, until a later one comes. */
  remember(cause: unknown): void {
    this.lastError = { message: messageOf(cause), at: this.#context.clock.now() }
  }
}
