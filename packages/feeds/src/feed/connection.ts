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
import { httpErrorOf, parseRetryAfter, UnreachedError } from './http-error.ts'
import type { Decoded, Decoder, Protocol } from './protocol.ts'
import { openSubscription, type Subscription } from './subscription.ts'
import { createMark, untilStale } from './watchdog.ts'

/** No documented frame comes near this; larger ones end the connection. */
const MAX_FRAME_BYTES = 1_048_576

/** So much of a refusal is read, to see whether it is about the region. */
const MAX_REFUSAL_BYTES = 4_096

/** Waits that are ours to choose. */
export interface ConnectionTiming {
  readonly handshakeTimeoutMs: Milliseconds
  /** How long a peer may take to answer our close frame before it is cut off. */
  readonly closeGraceMs: Milliseconds
}

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  /** One of the protocol's bases. */
  readonly base: string
  readonly userAgent: string
  readonly timing: ConnectionTiming
  readonly markets: readonly Market[]
  readonly onOpen: (connection: Connection) => void
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
  readonly wasLive: boolean
  /** Whether the exchange refused the subscription because of a market in it. */
  readonly refusesMarkets: boolean
}

/**
 * How far a connection has come: `opening`; `open`, the handshake has succeeded; `live`, it has brought data
 * (snapshots are none: they only repeat what was); `due`, it is live and should be replaced; `ended`.
 */
export type Phase = 'opening' | 'open' | 'live' | 'due' | 'ended'

const PHASES: readonly Phase[] = ['opening', 'open', 'live', 'due', 'ended']

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export class Connection {
  readonly base: string
  /** Resolves when the socket is really closed. */
  readonly closed: Promise<void>
  readonly #options: ConnectionOptions
  readonly #context: Pick<Context, 'clock' | 'random'>
  readonly #decoder: Decoder
  readonly #socket: WebSocket
  readonly #over = new AbortController()
  readonly #data = createMark()
  readonly #pong = createMark()
  #phase: Phase = 'opening'
  #waiting: { readonly phase: Phase; readonly resolve: () => void }[] = []
  #wanted: readonly Market[]
  #subscription: Subscription | undefined
  #openedAt: EpochMs | undefined
  #lastDataAt: EpochMs | undefined
  #ending: Ending | undefined

  /** Opens the socket, and subscribes when it is open. */
  constructor(options: ConnectionOptions, context: Pick<Context, 'clock' | 'random'>) {
    const { protocol, base, userAgent, markets } = options
    this.base = base
    this.#options = options
    this.#context = context
    this.#wanted = markets
    this.#decoder = protocol.createDecoder()
    this.#decoder.setMarkets(markets)
    this.#socket = new WebSocket(protocol.urlOf(base), {
      headers: { 'User-Agent': userAgent },
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

  get phase(): Phase {
    return this.#phase
  }

  /** Aborts when the connection ends. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Why it ended; undefined before. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  get openedAt(): EpochMs | undefined {
    return this.#openedAt
  }

  /** Whether data flows. */
  get isLive(): boolean {
    return this.#phase === 'live' || this.#phase === 'due'
  }

  /** Resolves when it has come so far, or further. */
  reached(phase: Phase): Promise<void> {
    if (PHASES.indexOf(this.#phase) >= PHASES.indexOf(phase)) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ phase, resolve }))
  }

  /**
   * Changes the subscription on the same connection; quick changes are joined to keep the exchange's limits.
   */
  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    this.#decoder.setMarkets(markets)
    this.#subscription?.setMarkets(markets)
  }

  /** Sends the subscription again, for its snapshots. */
  renewSubscription(): void {
    this.#subscription?.renew()
  }

  /**
   * Ends the connection in an orderly way, or by force when the peer does not answer. Resolves when it is
   * closed.
   */
  async close(): Promise<void> {
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', 'connection: closed by us'), { isOrderly: true })
    await this.closed
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('open', () => this.#opened())
    socket.on('message', frame => this.#receive(frame))
    socket.on('pong', () => this.#pong.set())
    socket.on('unexpected-response', (_request, response) => void this.#refused(response))
    socket.on('error', error => this.#end(this.#broken(error)))
    socket.on('close', (code, reason) => {
      const text =
        `${this.#options.protocol.exchange} connection: closed with code ${code} ${reason}`.trimEnd()
      this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text), { isOrderly: code !== 1006 })
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
    this.#reach('open')
    this.#options.onOpen(this)
  }

  #receive(frame: RawData): void {
    if (this.signal.aborted) return
    const receivedAt = this.#context.clock.now()
    // `ws` hands out one Buffer per message unless it is set otherwise.
    const decoded = this.#decoder.decode(frame as Buffer, receivedAt)
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      this.#data.set()
      this.#lastDataAt = receivedAt
      if (this.#phase === 'open') this.#reach('live')
    }
    this.#options.onFrame(decoded, this)
    if (decoded.kind === 'shutdown') this.#becomeDue()
    if (decoded.kind === 'error') {
      const text = `${this.#options.protocol.exchange} error frame: ${decoded.message}`
      const { refusesMarkets } = decoded
      this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text), { refusesMarkets })
    }
  }

  async #refused(response: IncomingMessage): Promise<void> {
    const { exchange } = this.#options.protocol
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#context.clock.now())
    const status = response.statusCode ?? 0
    // Only the text of a 403 says whether it is about the region.
    const body = status === 403 ? await startOf(response) : ''
    response.resume()
    this.#end(httpErrorOf({ exchange, what: 'handshake', status, retryAfterMs, body }))
  }

  async #limitHandshake(): Promise<void> {
    const { protocol, timing } = this.#options
    await this.#context.clock.wait(timing.handshakeTimeoutMs, this.signal)
    if (this.#openedAt !== undefined || this.signal.aborted) return
    const text = `${protocol.exchange} handshake: no answer within ${timing.handshakeTimeoutMs} ms`
    this.#end(new UnreachedError('KIMCHI_ERR_FEED_REFUSED', text))
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
    this.#becomeDue()
  }

  /** Without data there is nothing to hand over. */
  #becomeDue(): void {
    if (this.#phase === 'live') this.#reach('due')
    const text = `${this.#options.protocol.exchange} connection: about to be closed`
    if (!this.isLive) this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
  }

  /** The first reason wins; whatever the socket says afterwards is its echo. */
  #end(error: KimchiError, { isOrderly = false, refusesMarkets = false } = {}): void {
    if (this.signal.aborted) return
    const now = this.#context.clock.now()
    const lostAt = isOrderly ? now : (this.#lastDataAt ?? now)
    this.#ending = { error, lostAt, wasLive: this.isLive, refusesMarkets }
    this.#over.abort()
    this.#reach('ended')
    if (isOrderly && this.#socket.readyState === WebSocket.OPEN) void this.#closeSocket()
    else this.#socket.terminate()
  }

  #reach(phase: Phase): void {
    this.#phase = phase
    const waiting = this.#waiting
    this.#waiting = []
    for (const wait of waiting) void this.reached(wait.phase).then(wait.resolve)
  }

  async #closeSocket(): Promise<void> {
    this.#socket.close(1000)
    const done = new AbortController()
    void this.closed.then(() => done.abort())
    await this.#context.clock.wait(this.#options.timing.closeGraceMs, done.signal)
    this.#socket.terminate()
  }

  #broken(error: Error): KimchiError {
    const { exchange } = this.#options.protocol
    const code = 'code' in error ? String(error.code) : ''
    const text = `${exchange} connection: ${messageOf(error) || code}`
    if (code.startsWith('WS_ERR_')) return new KimchiError('KIMCHI_ERR_FRAME', text, { cause: error })
    return this.#openedAt === undefined
      ? new UnreachedError('KIMCHI_ERR_FEED_REFUSED', text, error)
      : new KimchiError('KIMCHI_ERR_FEED_REFUSED', text, { cause: error })
  }
}

async function startOf(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response) {
      text += String(chunk)
      if (text.length >= MAX_REFUSAL_BYTES) break
    }
  } catch {
    // What came before the socket broke is enough.
  }
  return text
}
