import type { Context, Exchange, Market, Milliseconds } from '@kimchi/core'
import { type Connection, type ConnectionOptions, openConnection } from '../feed/connection.ts'
import { fetchJson, type HttpAnswer } from '../http.ts'
import { type Want, Way } from './way.ts'

/**
 * The exchanges' addresses by environment variable: the main host, then the one that serves only market data.
 * @see docs/exchanges.md#where-it-runs
 */
export const DEFAULT_BASES = {
  UPBIT_WS_URL: ['wss://api.upbit.com/websocket/v1'],
  UPBIT_REST_URL: ['https://api.upbit.com'],
  BINANCE_WS_URL: ['wss://stream.binance.com:9443', 'wss://data-stream.binance.vision'],
  BINANCE_REST_URL: ['https://api.binance.com', 'https://data-api.binance.vision'],
} as const

/**
 * How many requests go to Binance for each one to Upbit: at most 25 a second, which uses 3,000 of the 6,000 of weight
 * that Binance allows in a minute.
 * @see docs/exchanges.md#binance-rest
 */
const BINANCE_FOR_ONE = 2.5

/**
 * The connections that a process may open, whatever the exchange does. Binance allows an address 300 in 5 minutes, Upbit
 * 5 a second.
 */
const CONNECTIONS = [
  { count: 20, withinMs: 300_000 },
  { count: 4, withinMs: 1_000 },
]

/**
 * A connection that breaks sooner is a failure of its base, and does not reset the backoff: an exchange that keeps
 * dropping us needs rest.
 */
const HEALTHY_MS: Milliseconds = 60_000

/** Where the exchanges answer, and who asks. */
export interface DoorOptions {
  /** Upbit WebSocket, the whole URL; Binance, the part before `/stream`. */
  readonly streams: Readonly<Record<Exchange, string | readonly string[]>>
  /** Upbit, the part before `/v1`; Binance, before `/api/v3`. */
  readonly rest: Readonly<Record<Exchange, string | readonly string[]>>
  /** REST requests a second to Upbit. @default 8 */
  readonly upbitPerSecond?: number
  readonly userAgent: string
  /** @default the platform's */
  readonly fetch?: typeof fetch | undefined
  /** @default real WebSockets */
  readonly openSocket?: ConnectionOptions['openSocket']
  /** Gets each answer before it is read. */
  readonly onAnswer?: (exchange: Exchange, path: string, answer: HttpAnswer) => void
}

/** What is opened, and what hears of it. */
export interface StreamOptions extends Pick<ConnectionOptions, 'protocol' | 'onFrame'> {
  /** The markets to subscribe to, asked for whenever a connection is opened. */
  readonly markets: () => readonly Market[]
  /** Called with each attempt. */
  readonly onAttempt?: (connection: Connection) => void
}

export type Doors = Readonly<Record<Exchange, Door>>

/** Both exchanges' doors. */
export function createDoors(options: DoorOptions, context: Context): Doors {
  return { upbit: new Door('upbit', options, context), binance: new Door('binance', options, context) }
}

/**
 * The door to one exchange, which owns all that concerns it as a whole: addresses, pace, refusals and backoff, of its
 * streams and of REST apart. Who asks gets an answer, or a failure that concerns its request alone.
 * @see docs/exchanges.md#where-it-runs
 */
export class Door {
  readonly #exchange: Exchange
  readonly #options: DoorOptions
  readonly #context: Context
  readonly #rest: Way
  readonly #streams: Way

  constructor(exchange: Exchange, options: DoorOptions, context: Context) {
    this.#exchange = exchange
    this.#options = options
    this.#context = context
    const perSecond = (options.upbitPerSecond ?? 8) * (exchange === 'binance' ? BINANCE_FOR_ONE : 1)
    const limits = [{ count: 1, withinMs: 1_000 / perSecond }]
    this.#rest = new Way({ exchange, of: 'rest', bases: options.rest[exchange], limits }, context)
    this.#streams = new Way(
      { exchange, of: 'stream', bases: options.streams[exchange], limits: CONNECTIONS },
      context,
    )
  }

  /** Whether nothing goes through any more: each request is refused at once. */
  get isClosed(): boolean {
    return this.#context.signal.aborted
  }

  /** One REST request. @param read takes what is wanted from the answer; another base is asked where it throws */
  get<T>(path: string, read: (answer: HttpAnswer) => T, want?: Want): Promise<T> {
    const { userAgent, fetch, onAnswer } = this.#options
    const request = { exchange: this.#exchange, userAgent, fetch }
    return this.#rest.request(async base => {
      const context = { ...this.#context, signal: want?.signal ?? this.#context.signal }
      const answer = await fetchJson(`${base}${path}`, request, context)
      // Upbit says how many requests of a group it still accepts in this second.
      if (/\bsec=0\b/.test(answer.headers.get('remaining-req') ?? '')) this.#rest.pause(1_000)
      onAnswer?.(this.#exchange, path, answer)
      return read(answer)
    }, want)
  }

  /**
   * Opens a stream at a base that brings data. Only who closes it knows when it is no longer needed.
   * @throws why the last connection has ended; the next call waits as long as it must
   */
  openStream(options: StreamOptions, want?: Want) {
    return this.#streams.request(async base => {
      const { userAgent, openSocket } = this.#options
      const { markets, onAttempt } = options
      const opening = { ...options, base, userAgent, openSocket, markets: markets() }
      const connection = openConnection(opening, this.#context)
      onAttempt?.(connection)
      await connection.live
      if (connection.signal.aborted) throw connection.error ?? want?.signal?.reason ?? new Error('closed')
      /** `over` resolves when the connection is to be replaced, or has ended. */
      return { connection, over: this.#untilOver(connection, base) }
    }, want)
  }

  status() {
    return { rest: this.#rest.status(), stream: this.#streams.status() }
  }

  async #untilOver(connection: Connection, base: string): Promise<void> {
    const { clock } = this.#context
    const liveFrom = clock.elapsed()
    await connection.due
    const { signal, error: reason } = connection
    const hasEnded = signal.aborted
    // We have closed it.
    if (hasEnded && reason === undefined) return
    const isHealthy = clock.elapsed() - liveFrom >= HEALTHY_MS
    if (isHealthy) this.#streams.worked()
    else if (reason !== undefined) this.#streams.failed(base, reason)
    // One that is due stays open until its successor is live. One that has just begun waits first: a base whose
    // connections are due at once must not start a storm of them.
    if (hasEnded || !isHealthy) this.#streams.hold(reason)
  }
}
