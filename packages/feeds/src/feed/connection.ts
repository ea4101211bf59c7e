import { type Context, type EpochMs, KimchiError, type Market, type Milliseconds } from '@kimchi/core'
import WebSocket, { type ClientOptions } from 'ws'
import { handshakeError, refusal, SubscriptionRefused, socketError } from './connection-errors.ts'
import type { Decoded, Decoder, Protocol } from './protocol.ts'
import { untilStalled } from './stall.ts'

const HANDSHAKE_TIMEOUT_MS: Milliseconds = 10_000

const SOCKET_OPTIONS = {
  followRedirects: false,
  // Without compression a deflate bomb is a protocol error, and frames this small gain little from it.
  perMessageDeflate: false,
  // No documented frame comes near this; larger ones end the connection.
  maxPayload: 1_048_576,
  // The decoder checks the bytes, so that a bad frame costs a frame and not the connection.
  skipUTF8Validation: true,
  // A peer that takes longer to answer our close frame is cut off, in milliseconds.
  closeTimeout: 500,
}

/** Opens a WebSocket to a URL. */
export type OpenSocket = (url: string, options: ClientOptions) => WebSocket

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  readonly base: string
  readonly userAgent: string
  readonly markets: readonly Market[]
  /** @default a real one */
  readonly openSocket?: OpenSocket | undefined
  readonly onFrame: (decoded: Decoded, connection: Connection, frame: Buffer) => void
}

/** Opens a socket, subscribes when it is open, and hands on its frames until it ends. */
export function openConnection(
  options: ConnectionOptions,
  context: Pick<Context, 'clock' | 'random'>,
): Connection {
  const { protocol, base, userAgent, openSocket = (...args) => new WebSocket(...args) } = options
  const headers = { 'User-Agent': userAgent }
  const socket = openSocket(protocol.urlOf(base), { ...SOCKET_OPTIONS, headers })
  const connection = new Connection(socket, options, context)
  connection.attend()
  return connection
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export class Connection {
  /** When the handshake succeeded; undefined before. */
  openedAt: EpochMs | undefined
  /** Why it has ended; undefined before, and where we closed it. */
  error: KimchiError | undefined
  /** Those that it subscribes to. */
  readonly markets: readonly Market[]
  readonly #socket: WebSocket
  readonly #options: ConnectionOptions
  readonly #context: Pick<Context, 'clock' | 'random'>
  readonly #decode: Decoder
  readonly #over = new AbortController()
  readonly #live = createGate()
  readonly #due = createGate()
  readonly #closed = createGate()
  #dataFrames = 0
  /** Aborts when it has ended: nothing more is read from it. */
  readonly signal: AbortSignal = this.#over.signal
  /** Resolves at the first data frame (snapshots are none: they repeat the past), or when it has ended. */
  readonly live = this.#live.passed
  /** Resolves when it is to be replaced: it is old or {@link retire}d, the exchange announces its end, or it has ended. */
  readonly due = this.#due.passed

  constructor(socket: WebSocket, options: ConnectionOptions, context: Pick<Context, 'clock' | 'random'>) {
    this.#socket = socket
    this.#options = options
    this.#context = context
    this.markets = options.markets
    this.#decode = options.protocol.createDecoder(options.markets)
  }

  /** Listens to the socket from its opening to its end. */
  attend(): void {
    const { clock } = this.#context
    const { exchange } = this.#options.protocol
    this.#socket.on('open', () => void this.#begin())
    // `ws` hands out one Buffer per message unless it is set otherwise.
    this.#socket.on('message', frame => this.#receive(frame as Buffer))
    this.#socket.on('unexpected-response', (_request, response) =>
      this.#end(handshakeError(exchange, response, clock.now())),
    )
    this.#socket.on('error', error => this.#end(socketError(exchange, error)))
    this.#socket.on('close', (code, reason) => {
      this.#end(refusal(exchange, `connection: closed with code ${code} ${reason}`.trimEnd()))
      this.#closed.open()
    })
    void clock.wait(HANDSHAKE_TIMEOUT_MS, this.signal).then(() => {
      if (this.openedAt !== undefined) return
      this.#end(refusal(exchange, `handshake: no answer within ${HANDSHAKE_TIMEOUT_MS} ms`))
    })
  }

  /** Sends the subscription, or sends it again for its snapshots. */
  subscribe(): void {
    const id = Math.floor(this.#context.random() * 2 ** 40)
    for (const message of this.#options.protocol.subscribe(this.markets, id)) this.#socket.send(message)
  }

  /** Has it replaced. */
  retire(): void {
    this.#due.open()
  }

  /** Closes it, by force when the peer does not answer. Resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#end()
    await this.#closed.passed
  }

  /** The first reason counts; whatever the socket reports afterwards only follows from it. */
  #end(error?: KimchiError): void {
    if (this.signal.aborted) return
    this.error = error
    this.#over.abort()
    this.#live.open()
    this.#due.open()
    if (error === undefined) this.#socket.close(1000)
    else this.#socket.terminate()
  }

  #receive(frame: Buffer): void {
    if (this.signal.aborted) return
    const decoded = this.#decode(frame, this.#context.clock.now())
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      this.#dataFrames += 1
      this.#live.open()
    }
    this.#options.onFrame(decoded, this, frame)
    if (decoded.kind === 'shutdown') this.#due.open()
    if (decoded.kind === 'error') {
      const message = `${this.#options.protocol.exchange} error frame: ${decoded.message}`
      this.#end(new SubscriptionRefused('KIMCHI_ERR_FEED_REFUSED', message))
    }
  }

  /**
   * Runs when the socket opens: subscribes, pings, and ends the connection when it stalls. All up to the first
   * `await` runs within the `open` event, before any frame.
   */
  async #begin(): Promise<void> {
    const { clock } = this.#context
    const { exchange, maxAgeMs, stallAfterMs } = this.#options.protocol
    this.openedAt = clock.now()
    this.subscribe()
    void this.#ping()
    if (maxAgeMs !== undefined) void clock.wait(maxAgeMs, this.signal).then(() => this.#due.open())
    await untilStalled(() => this.#dataFrames, stallAfterMs, clock, this.signal)
    this.#end(new KimchiError('KIMCHI_ERR_FEED_STALLED', `${exchange} feed: no data for ${stallAfterMs} ms`))
  }

  async #ping(): Promise<void> {
    const { pingEveryMs } = this.#options.protocol
    while (pingEveryMs !== undefined && !this.signal.aborted) {
      await this.#context.clock.wait(pingEveryMs, this.signal)
      if (!this.signal.aborted) this.#socket.ping()
    }
  }
}

/** A promise that others wait for until `open` is called; further calls change nothing. */
function createGate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}
