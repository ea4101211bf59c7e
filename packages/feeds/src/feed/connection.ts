import type { IncomingMessage } from 'node:http'
import {
  type Clock,
  type EpochMs,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import WebSocket, { type RawData } from 'ws'
import { httpErrorOf, parseRetryAfter } from './http-error.ts'
import type { Decoded, Decoder, Protocol } from './protocol.ts'
import { openSubscription } from './subscription.ts'
import { Mark, untilDead } from './watchdog.ts'

/** No documented frame comes near this; larger ones end the connection. */
const MAX_FRAME_BYTES = 1_048_576

/** What one connection needs and whom it tells. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  readonly markets: readonly Market[]
  readonly clock: Clock
  readonly random: () => number
  readonly handshakeTimeoutMs: Milliseconds
  /** How long a peer may take to answer our close frame before it is cut off. */
  readonly closeGraceMs: Milliseconds
  readonly onOpen: (connection: Connection) => void
  readonly onDecoded: (decoded: Decoded) => void
}

/** Why and when a connection ended. */
export interface Ending {
  readonly error: KimchiError
  /** Until when its data is known to be whole: the last data frame, or the close when it was an orderly one. */
  readonly lostAt: EpochMs
  readonly hadData: boolean
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export class Connection {
  readonly decoder: Decoder
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal
  /** True at the first data frame, false when the connection ended without one. */
  readonly live: Promise<boolean>
  readonly ended: Promise<Ending>
  /** Resolves when the connection should be replaced while it still works. */
  readonly due: Promise<void>
  /** Resolves when the socket is really closed. */
  readonly closed: Promise<void>
  readonly #options: ConnectionOptions
  readonly #socket: WebSocket
  readonly #over = new AbortController()
  #setLive: (live: boolean) => void = () => {}
  #setEnded: (ending: Ending) => void = () => {}
  #setDue: () => void = () => {}
  #wanted: readonly Market[]
  #subscribe: ((markets: readonly Market[]) => void) | undefined
  readonly #heard = new Mark()
  readonly #ponged = new Mark()
  #openedAt: EpochMs | undefined
  #lastDataAt: EpochMs | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#wanted = options.markets
    this.signal = this.#over.signal
    this.decoder = options.protocol.createDecoder()
    this.decoder.setMarkets(options.markets)
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
      // The decoder judges bytes that are no UTF-8, so that one bad frame costs a frame and not the connection.
      skipUTF8Validation: true,
    })
    this.closed = new Promise(resolve => this.#socket.once('close', () => resolve()))
    this.#listen()
    void this.#limitHandshake()
  }

  get openedAt(): EpochMs | undefined {
    return this.#openedAt
  }

  get lastDataAt(): EpochMs | undefined {
    return this.#lastDataAt
  }

  /** Whether it is open and has brought data. */
  get carrying(): boolean {
    return !this.signal.aborted && this.#lastDataAt !== undefined
  }

  /** Changes the subscription on the same connection; quick changes are joined to keep the exchange's limits. */
  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    this.decoder.setMarkets(markets)
    this.#subscribe?.(markets)
  }

  /** Ends the connection in an orderly way, or by force when the peer does not answer. Resolves when it is closed. */
  async close(): Promise<void> {
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', 'connection: closed by us'), true)
    await this.closed
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('open', () => this.#opened())
    socket.on('message', (frame, isBinary) => this.#receive(frame, isBinary))
    socket.on('pong', () => this.#ponged.set())
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
    const { protocol, clock, random } = this.#options
    this.#openedAt = clock.now()
    const send = (message: string): void => this.#socket.send(message)
    this.#subscribe = openSubscription({ protocol, clock, random, signal: this.signal, send })
    this.#subscribe(this.#wanted)
    void this.#watchLife()
    void this.#watchAge()
    this.#options.onOpen(this)
  }

  #receive(frame: RawData, isBinary: boolean): void {
    if (this.signal.aborted) return
    const receivedAt = this.#options.clock.now()
    // `ws` hands out one Buffer per message unless told otherwise.
    const decoded = this.decoder.decode(frame as Buffer, isBinary, receivedAt)
    if (decoded.kind === 'ticks') {
      this.#heard.set()
      const isFirst = this.#lastDataAt === undefined
      this.#lastDataAt = receivedAt
      if (isFirst) this.#setLive(true)
    }
    this.#options.onDecoded(decoded)
    if (decoded.kind === 'shutdown') this.#setDue()
    if (decoded.kind === 'error') {
      const text = `${this.#options.protocol.exchange} error frame: ${decoded.message}`
      this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
    }
  }

  #refused(response: IncomingMessage): void {
    const { protocol, clock } = this.#options
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], clock.now())
    response.resume()
    const status = response.statusCode ?? 0
    this.#end(httpErrorOf({ exchange: protocol.exchange, what: 'handshake', status, retryAfterMs }))
  }

  async #limitHandshake(): Promise<void> {
    const { protocol, clock, handshakeTimeoutMs } = this.#options
    await clock.wait(handshakeTimeoutMs, this.signal)
    if (this.#openedAt !== undefined || this.signal.aborted) return
    const text = `${protocol.exchange} handshake: no answer within ${handshakeTimeoutMs} ms`
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
  }

  async #watchLife(): Promise<void> {
    const pulse = { heard: this.#heard, ponged: this.#ponged, ping: () => this.#socket.ping() }
    const death = await untilDead(this.#options.protocol, pulse, this.#options.clock, this.signal)
    if (death !== undefined) this.#end(new KimchiError('KIMCHI_ERR_FEED_STALLED', death))
  }

  async #watchAge(): Promise<void> {
    const { protocol, clock } = this.#options
    if (protocol.maxAgeMs === undefined) return
    await clock.wait(protocol.maxAgeMs, this.signal)
    this.#setDue()
  }

  /** The first reason wins; whatever the socket says afterwards is its echo. */
  #end(error: KimchiError, orderly = false): void {
    if (this.signal.aborted) return
    const lastDataAt = this.#lastDataAt ?? this.#options.clock.now()
    const lostAt = orderly ? this.#options.clock.now() : lastDataAt
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
    await this.#options.clock.wait(this.#options.closeGraceMs, done.signal)
    this.#socket.terminate()
  }
}

function broken(protocol: Protocol, error: Error): KimchiError {
  const code = 'code' in error ? String(error.code) : ''
  const isFrame = code.startsWith('WS_ERR_')
  const text = `${protocol.exchange} connection: ${messageOf(error) || code}`
  return new KimchiError(isFrame ? 'KIMCHI_ERR_FRAME' : 'KIMCHI_ERR_FEED_REFUSED', text, { cause: error })
}
