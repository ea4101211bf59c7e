import type { IncomingMessage } from 'node:http'
import {
  type Context,
  type EpochMs,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import WebSocket, { type RawData } from 'ws'
import { httpErrorOf, parseRetryAfter } from './http-error.ts'
import type { Decoded, Decoder, Protocol } from './protocol.ts'
import { openSubscription, type Subscription } from './subscription.ts'
import { createMark, untilStale } from './watchdog.ts'

/** No documented frame comes near this; larger ones end the connection. */
const MAX_FRAME_BYTES = 1_048_576

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  readonly markets: readonly Market[]
  readonly handshakeTimeoutMs: Milliseconds
  /** How long a peer may take to answer our close frame before it is cut off. */
  readonly closeGraceMs: Milliseconds
  readonly onOpen: () => void
  readonly onFrame: (decoded: Decoded, connection: Connection) => void
}

/** Why and when a connection ended. */
export interface Ending {
  readonly error: KimchiError
  /**
   * Until when its data is known to be complete: the last data frame, or the close when it was an orderly
   * one.
   */
  readonly lostAt: EpochMs
  readonly hadData: boolean
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export interface Connection {
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal
  /** True at the first data frame, false when the connection ended without one. */
  readonly live: Promise<boolean>
  readonly ended: Promise<Ending>
  /** Resolves when the connection should be replaced while it still works. */
  readonly due: Promise<void>
  /** Resolves when the socket is really closed. */
  readonly closed: Promise<void>
  readonly openedAt: EpochMs | undefined
  /** Whether it is open and has brought data. Snapshots are none: they only repeat what was. */
  readonly carrying: boolean
  /**
   * Changes the subscription on the same connection; quick changes are joined to keep the exchange's limits.
   */
  setMarkets(markets: readonly Market[]): void
  /** Sends the subscription again, for its snapshots. */
  renewSubscription(): void
  /**
   * Ends the connection in an orderly way, or by force when the peer does not answer. Resolves when it is
   * closed.
   */
  close(): Promise<void>
}

/** Opens one connection and subscribes. */
export function openConnection(
  options: ConnectionOptions,
  context: Pick<Context, 'clock' | 'random'>,
): Connection {
  return new SocketConnection(options, context)
}

class SocketConnection implements Connection {
  readonly signal: AbortSignal
  readonly live: Promise<boolean>
  readonly ended: Promise<Ending>
  readonly due: Promise<void>
  readonly closed: Promise<void>
  readonly #options: ConnectionOptions
  readonly #context: Pick<Context, 'clock' | 'random'>
  readonly #decoder: Decoder
  readonly #socket: WebSocket
  readonly #over = new AbortController()
  #setLive: (live: boolean) => void = () => {}
  #setEnded: (ending: Ending) => void = () => {}
  #setDue: () => void = () => {}
  #wanted: readonly Market[]
  #subscription: Subscription | undefined
  readonly #data = createMark()
  readonly #pong = createMark()
  #openedAt: EpochMs | undefined
  #lastDataAt: EpochMs | undefined

  constructor(options: ConnectionOptions, context: Pick<Context, 'clock' | 'random'>) {
    this.#options = options
    this.#context = context
    this.#wanted = options.markets
    this.signal = this.#over.signal
    this.#decoder = options.protocol.createDecoder()
    this.#decoder.setMarkets(options.markets)
    this.live = new Promise(resolve => {
      this.#setLive = resolve
    })
    this.ended = new Promise(resolve => {
      this.#setEnded = resolve
    })
    this.due = new Promise(resolve => {
      this.#setDue = resolve
    })
    this.#socket = new WebSocket(options.protocol.url, {
      followRedirects: false,
      // Without compression a deflate bomb is a protocol error, and frames this small gain little from it.
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      // The decoder checks the bytes, so that a bad frame costs a frame and not the connection.
      skipUTF8Validation: true,
    })
    this.closed = new Promise(resolve => this.#socket.once('close', () => resolve()))
    this.#listen()
    void this.#limitHandshake()
  }

  get openedAt(): EpochMs | undefined {
    return this.#openedAt
  }

  get carrying(): boolean {
    return !this.signal.aborted && this.#lastDataAt !== undefined
  }

  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    this.#decoder.setMarkets(markets)
    this.#subscription?.setMarkets(markets)
  }

  renewSubscription(): void {
    this.#subscription?.renew()
  }

  async close(): Promise<void> {
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', 'connection: closed by us'), true)
    await this.closed
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('open', () => this.#opened())
    socket.on('message', frame => this.#receive(frame))
    socket.on('pong', () => this.#pong.set())
    socket.on('unexpected-response', (_request, response) => this.#refused(response))
    socket.on('error', error => this.#end(broken(this.#options.protocol, error)))
    socket.on('close', (code, reason) => {
      const text =
        `${this.#options.protocol.exchange} connection: closed with code ${code} ${reason}`.trimEnd()
      this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text), code !== 1006)
    })
  }

  #opened(): void {
    if (this.signal.aborted) return
    this.#openedAt = this.#context.clock.now()
    const send = (message: string): void => this.#socket.send(message)
    const context = { ...this.#context, signal: this.signal }
    this.#subscription = openSubscription(this.#options.protocol, send, context)
    this.#subscription.setMarkets(this.#wanted)
    void this.#watch()
    void this.#watchAge()
    this.#options.onOpen()
  }

  #receive(frame: RawData): void {
    if (this.signal.aborted) return
    const receivedAt = this.#context.clock.now()
    // `ws` hands out one Buffer per message unless told otherwise.
    const decoded = this.#decoder.decode(frame as Buffer, receivedAt)
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      this.#data.set()
      const isFirst = this.#lastDataAt === undefined
      this.#lastDataAt = receivedAt
      if (isFirst) this.#setLive(true)
    }
    this.#options.onFrame(decoded, this)
    if (decoded.kind === 'shutdown') this.#setDue()
    if (decoded.kind === 'error') {
      const text = `${this.#options.protocol.exchange} error frame: ${decoded.message}`
      this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
    }
  }

  #refused(response: IncomingMessage): void {
    const { protocol } = this.#options
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#context.clock.now())
    response.resume()
    const status = response.statusCode ?? 0
    this.#end(httpErrorOf({ exchange: protocol.exchange, what: 'handshake', status, retryAfterMs }))
  }

  async #limitHandshake(): Promise<void> {
    const { protocol, handshakeTimeoutMs } = this.#options
    await this.#context.clock.wait(handshakeTimeoutMs, this.signal)
    if (this.#openedAt !== undefined || this.signal.aborted) return
    const text = `${protocol.exchange} handshake: no answer within ${handshakeTimeoutMs} ms`
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
  }

  async #watch(): Promise<void> {
    const watched = { data: this.#data, pong: this.#pong, ping: () => this.#socket.ping() }
    const context = { clock: this.#context.clock, signal: this.signal }
    const reason = await untilStale(this.#options.protocol, watched, context)
    if (reason !== undefined) this.#end(new KimchiError('KIMCHI_ERR_FEED_STALLED', reason))
  }

  async #watchAge(): Promise<void> {
    const { maxAgeMs } = this.#options.protocol
    if (maxAgeMs === undefined) return
    await this.#context.clock.wait(maxAgeMs, this.signal)
    this.#setDue()
  }

  /** The first reason wins; whatever the socket says afterwards is its echo. */
  #end(error: KimchiError, orderly = false): void {
    if (this.signal.aborted) return
    const lastDataAt = this.#lastDataAt ?? this.#context.clock.now()
    const lostAt = orderly ? this.#context.clock.now() : lastDataAt
    this.#over.abort()
    this.#setLive(false)
    this.#setEnded({ error, lostAt, hadData: this.#lastDataAt !== undefined })
    if (orderly && this.#socket.readyState === WebSocket.OPEN) void this.#closeSocket()
    else this.#socket.terminate()
  }

  async #closeSocket(): Promise<void> {
    this.#socket.close(1000)
    const done = new AbortController()
    void this.closed.then(() => done.abort())
    await this.#context.clock.wait(this.#options.closeGraceMs, done.signal)
    this.#socket.terminate()
  }
}

function broken(protocol: Protocol, error: Error): KimchiError {
  const code = 'code' in error ? String(error.code) : ''
  const isFrame = code.startsWith('WS_ERR_')
  const text = `${protocol.exchange} connection: ${messageOf(error) || code}`
  return new KimchiError(isFrame ? 'KIMCHI_ERR_FRAME' : 'KIMCHI_ERR_FEED_REFUSED', text, { cause: error })
}
