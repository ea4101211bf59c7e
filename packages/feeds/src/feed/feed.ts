import type { Clock, EpochMs, Exchange, Log, Market, Milliseconds, Tick } from '@kimchi/core'
import { ConnectionLoop } from './connection-loop.ts'
import type { FeedStatus } from './feed-status.ts'
import type { Protocol } from './protocol.ts'
import type { Seed } from './seeding.ts'

/** What a feed needs and whom it tells. */
export interface FeedOptions {
  readonly protocol: Protocol
  /** The exchange's own codes; the reference markets are added by the feed. */
  readonly markets: readonly Market[]
  readonly clock: Clock
  /** As `Math.random`. */
  readonly random: () => number
  /**
   * Takes each tick, synchronously, straight from the socket. A callback and not an async iterator: at thousands of frames
   * a second a promise per tick costs more than its decoding. Must not throw.
   */
  readonly onTick: (tick: Tick) => void
  /** The data broke off at `at`, and no other connection carries it: feed this to `LatestTicks.lost`. */
  readonly onLost: (exchange: Exchange, at: EpochMs) => void
  /** Present prices after each connect, where the exchange's stream begins without them. */
  readonly seed?: Seed
  readonly log: Log
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

/** One exchange's ticks, for as long as it is open. */
export interface Feed {
  status(): FeedStatus
  /** Changes what is subscribed, without a reconnect. Forgotten markets give no more ticks. */
  setMarkets(markets: readonly Market[]): void
  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  close(): Promise<void>
}

/**
 * Opens the feed of one exchange: connects, subscribes, and keeps data coming until it is closed. Reconnects with jittered backoff;
 * replaces a connection that grows old, or is about to be closed by the exchange, after its successor carries data.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when there are more markets than one connection may carry
 * @see design §5, exchange-protocols §1, §3
 */
export function openFeed(options: FeedOptions): Feed {
  return new ConnectionLoop(options)
}
