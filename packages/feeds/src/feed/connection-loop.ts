import {
  type Context,
  type EpochMs,
  type KimchiError,
  type Market,
  MINUTE_MS,
  type Milliseconds,
} from '@kimchi/core'
import type { Door } from '../door/door.ts'
import type { Connection } from './connection.ts'
import { SubscriptionRefused } from './connection-errors.ts'
import type { FeedCounters } from './feed-status.ts'
import type { Decoded, Protocol } from './protocol.ts'

/** Where in a minute a planned successor is opened, so that its first prices are there before the minute ends. */
const SUCCESSOR_FROM_MS: Milliseconds = 10_000
const SUCCESSOR_UNTIL_MS: Milliseconds = 40_000

export interface ConnectionLoopOptions {
  readonly protocol: Protocol
  readonly door: Pick<Door, 'isClosed' | 'openStream' | 'noteChange' | 'status'>
  readonly markets: () => readonly Market[]
  readonly onFrame: (decoded: Decoded, connection: Connection) => void
  readonly onRefused?: (() => void) | undefined
  readonly counters: FeedCounters
}

/** The connections of a feed: one after another, the successor of one that is due before that ends. */
export class ConnectionLoop {
  readonly #options: ConnectionLoopOptions
  readonly #context: Pick<Context, 'clock' | 'log' | 'signal'>
  readonly #connections = new Set<Connection>()

  constructor(options: ConnectionLoopOptions, context: Pick<Context, 'clock' | 'log' | 'signal'>) {
    this.#options = options
    this.#context = context
  }

  /** Connects again and again, until the signal aborts or the door closes. */
  async run(): Promise<void> {
    const { clock, log, signal } = this.#context
    const { door, protocol, markets, onFrame } = this.#options
    while (!signal.aborted && !door.isClosed) {
      const stream = {
        protocol,
        markets,
        onFrame,
        onAttempt: (connection: Connection) => this.#attend(connection),
      }
      // The door tells of what fails, and waits before the next one.
      const opened = await door.openStream(stream, { signal }).catch(() => undefined)
      if (opened === undefined) continue
      const { connection, over } = opened
      log.info({ exchange: protocol.exchange, markets: markets().length }, 'feed is up')
      await over
      if (!connection.signal.aborted) await clock.wait(untilSuccessor(clock.now()), connection.signal)
    }
  }

  /** Has the open connections replaced, as the markets have changed. */
  noteChange(): void {
    for (const connection of this.#connections) connection.retire()
    this.#options.door.noteChange()
  }

  /** Closes all connections but this one. Resolves when their sockets are closed. */
  async close(kept?: Connection): Promise<void> {
    const others = [...this.#connections].filter(connection => connection !== kept)
    await Promise.all(others.map(connection => connection.close()))
  }

  #attend(connection: Connection): void {
    this.#options.counters.attempts += 1
    this.#connections.add(connection)
    void connection.ended.then(error => this.#noteEnd(connection, error))
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
