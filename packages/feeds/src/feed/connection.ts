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
import { createSubscription, type Subscribe } from './subscription.ts'
import { untilStale } from './watchdog.ts'

const HANDSHAKE_TIMEOUT_MS: Milliseconds = 10_000

/** We cut off a peer that takes longer to answer our close frame. */
const CLOSE_GRACE_MS: Milliseconds = 500

/** No documented frame comes near this; larger ones end the connection. */
const MAX_FRAME_BYTES = 1_048_576

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  /** One of the protocol's bases. */
  readonly base: string
  readonly userAgent: string
  readonly markets: readonly Market[]
  readonly onFrame: (decoded: Decoded, connection: Connection) => void
}

/**
 * How far a connection has come. `opening`; `open`: the handshake has succeeded; `live`: it has brought data
 * (no snapshots, which repeat the past); `due`: it is live and should be replaced; `ended`: nothing more is read
 * from it; `closed`: its socket is closed.
 */
export type Phase = 'opening' | 'open' | 'live' | 'due' | 'ended' | 'closed'

const PHASES: readonly Phase[] = ['opening', 'open', 'live', 'due', 'ended', 'closed']

/** Why and when a connection ended. */
export interface Ending {
  /** Undefined when we closed it. */
  readonly error: KimchiError | undefined
  /** Until when its data is complete: the close if it was orderly, else the last data frame. */
  readonly lostAt: EpochMs
  readonly wasLive: boolean
  /** Whether the exchange refused the subscription because of a market in it. */
  readonly refusesMarkets: boolean
}

/** What has become of a connection so far. */
export interface ConnectionState {
  readonly phase: Phase
  /** When the handshake succeeded. */
  readonly openedAt?: EpochMs
  readonly ending?: Ending
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export class Connection {
  readonly base: string
  readonly #options: ConnectionOptions
  readonly #context: Pick<Context, 'clock' | 'random' | 'signal'>
  readonly #decoder: Decoder
  readonly #socket: WebSocket
  readonly #subscribe: Subscribe
  readonly #over = new AbortController()
  readonly #arrivals = { dataFrames: 0, pongs: 0 }
  #state: ConnectionState = { phase: 'opening' }
  #markets: readonly Market[]
  #waiting: { readonly phase: Phase; readonly resolve: () => void }[] = []
  #lastDataAt: EpochMs | undefined

  /** Opens the socket, and subscribes when it is open. */
  constructor(options: ConnectionOptions, context: Pick<Context, 'clock' | 'random'>) {
    const { protocol, base, userAgent, markets } = options
    this.base = base
    this.#markets = markets
    this.#options = options
    this.#context = { ...context, signal: this.#over.signal }
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
    const send = (message: string) => this.#socket.send(message)
    this.#subscribe = createSubscription(protocol, send, this.#context)
    this.#listen()
    void this.#limitHandshake()
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** Resolves when the connection has reached a phase, or a later one. */
  reached(phase: Phase): Promise<void> {
    if (PHASES.indexOf(this.#state.phase) >= PHASES.indexOf(phase)) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ phase, resolve }))
  }

  /** Changes the subscription on the same connection, as fast as the exchange's limits allow. */
  setMarkets(markets: readonly Market[]): void {
    this.#markets = markets
    this.#decoder.setMarkets(markets)
    if (this.#state.openedAt !== undefined) this.#subscribe(markets)
  }

  /** Sends the subscription again, for its snapshots. */
  renewSubscription(): void {
    if (this.#state.openedAt !== undefined) this.#subscribe(this.#markets, true)
  }

  /** Closes the connection, by force when the peer does not answer. Resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#end(undefined, { isOrderly: true })
    await this.reached('closed')
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('open', () => this.#opened())
    socket.on('message', frame => this.#receive(frame))
    socket.on('pong', () => {
      this.#arrivals.pongs += 1
    })
    socket.on('unexpected-response', (_request, response) => this.#refused(response))
    socket.on('error', error => this.#end(this.#socketError(error)))
    socket.on('close', (code, reason) => {
      const what = `connection: closed with code ${code} ${reason}`.trimEnd()
      this.#end(this.#refusal(what), { isOrderly: code !== 1006 })
      this.#enter('closed')
    })
  }

  #opened(): void {
    if (this.#over.signal.aborted) return
    this.#enter('open', { openedAt: this.#context.clock.now() })
    this.#subscribe(this.#markets)
    void this.#watch()
    void this.#watchAge()
  }

  #receive(frame: RawData): void {
    if (this.#over.signal.aborted) return
    const receivedAt = this.#context.clock.now()
    // `ws` hands out one Buffer per message unless it is set otherwise.
    const decoded = this.#decoder.decode(frame as Buffer, receivedAt)
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      this.#arrivals.dataFrames += 1
      this.#lastDataAt = receivedAt
      if (this.#state.phase === 'open') this.#enter('live')
    }
    this.#options.onFrame(decoded, this)
    if (decoded.kind === 'shutdown') this.#becomeDue()
    if (decoded.kind !== 'error') return
    const { message, refusesMarkets } = decoded
    this.#end(this.#refusal(`error frame: ${message}`), { refusesMarkets })
  }

  #refused(response: IncomingMessage): void {
    const { exchange } = this.#options.protocol
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#context.clock.now())
    const status = response.statusCode ?? 0
    response.resume()
    this.#end(httpErrorOf({ exchange, what: 'handshake', status, retryAfterMs }))
  }

  async #limitHandshake(): Promise<void> {
    const { clock, signal } = this.#context
    await clock.wait(HANDSHAKE_TIMEOUT_MS, signal)
    if (this.#state.phase !== 'opening') return
    const text = `${this.#options.protocol.exchange} handshake: no answer within ${HANDSHAKE_TIMEOUT_MS} ms`
    this.#end(new KimchiError('KIMCHI_ERR_FEED_REFUSED', text))
  }

  async #watch(): Promise<void> {
    const ping = () => this.#socket.ping()
    const reason = await untilStale(this.#options.protocol, this.#arrivals, ping, this.#context)
    if (reason !== undefined) this.#end(new KimchiError('KIMCHI_ERR_FEED_STALLED', reason))
  }

  async #watchAge(): Promise<void> {
    const { maxAgeMs } = this.#options.protocol
    if (maxAgeMs === undefined) return
    await this.#context.clock.wait(maxAgeMs, this.#context.signal)
    this.#becomeDue()
  }

  /** A connection without data has nothing to hand over, and ends at once. */
  #becomeDue(): void {
    if (this.#state.phase === 'live') this.#enter('due')
    else if (this.#state.phase === 'open') this.#end(this.#refusal('connection: about to be closed'))
  }

  /** The first reason counts; whatever the socket reports afterwards only follows from it. */
  #end(error: KimchiError | undefined, { isOrderly = false, refusesMarkets = false } = {}): void {
    if (this.#over.signal.aborted) return
    const now = this.#context.clock.now()
    const lostAt = isOrderly ? now : (this.#lastDataAt ?? now)
    const wasLive = isLive(this)
    this.#over.abort()
    this.#enter('ended', { ending: { error, lostAt, wasLive, refusesMarkets } })
    if (isOrderly && this.#socket.readyState === WebSocket.OPEN) void this.#closeSocket()
    else this.#socket.terminate()
  }

  #enter(phase: Phase, facts: Omit<ConnectionState, 'phase'> = {}): void {
    this.#state = { ...this.#state, ...facts, phase }
    const waiting = this.#waiting
    this.#waiting = []
    for (const wait of waiting) void this.reached(wait.phase).then(wait.resolve)
  }

  async #closeSocket(): Promise<void> {
    this.#socket.close(1000)
    const done = new AbortController()
    void this.reached('closed').then(() => done.abort())
    await this.#context.clock.wait(CLOSE_GRACE_MS, done.signal)
    this.#socket.terminate()
  }

  #refusal(what: string, cause?: Error): KimchiError {
    const text = `${this.#options.protocol.exchange} ${what}`
    return new KimchiError('KIMCHI_ERR_FEED_REFUSED', text, { cause })
  }

  #socketError(cause: Error): KimchiError {
    const code = 'code' in cause ? String(cause.code) : ''
    const refusal = this.#refusal(`connection: ${messageOf(cause) || code}`, cause)
    return code.startsWith('WS_ERR_')
      ? new KimchiError('KIMCHI_ERR_FRAME', refusal.message, { cause })
      : refusal
  }
}

/** Whether data flows on a connection. */
export function isLive({ state: { phase } }: Connection): boolean {
  return phase === 'live' || phase === 'due'
}
