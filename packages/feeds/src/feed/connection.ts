import type { IncomingMessage } from 'node:http'
import {
  type Context,
  type EpochMs,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import WebSocket, { type ClientOptions } from 'ws'
import { httpErrorOf } from '../http-error.ts'
import { statedWait } from '../retry-after.ts'
import type { Decoded, Decoder, Protocol } from './protocol.ts'

const HANDSHAKE_TIMEOUT_MS: Milliseconds = 10_000

/**
 * A connection is checked 30 times within `stallAfterMs`, and has stalled when 28 checks in a row found no new data:
 * this leaves time for the first retry within the limit.
 */
const CHECKS = 30
const STALL_CHECKS = 28

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

/** The exchange refuses our subscription by an error frame: its list may have changed. */
export class SubscriptionRefused extends KimchiError {}

/** Opens a WebSocket to a URL. */
export type OpenSocket = (url: string, options: ClientOptions) => WebSocket

const openWebSocket: OpenSocket = (url, options) => new WebSocket(url, options)

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  readonly base: string
  readonly userAgent: string
  readonly markets: readonly Market[]
  /** @default a real one */
  readonly openSocket?: OpenSocket | undefined
  readonly onFrame: (decoded: Decoded, frame: Buffer) => void
  /** The exchange has acknowledged these markets: from now on a frame follows each of their trades. */
  readonly onAcknowledged?: (markets: readonly Market[]) => void
}

/** Opens a socket, subscribes when it is open, and hands on its frames until it ends. */
export function openConnection(
  options: ConnectionOptions,
  context: Pick<Context, 'clock' | 'random'>,
): Connection {
  const { protocol, base, userAgent, openSocket = openWebSocket } = options
  const headers = { 'User-Agent': userAgent }
  const socket = openSocket(protocol.urlOf(base), { ...SOCKET_OPTIONS, headers })
  return new Connection(socket, options, context)
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export class Connection {
  /** When the handshake succeeded; undefined before. */
  openedAt: EpochMs | undefined
  readonly #options: ConnectionOptions
  readonly #protocol: Protocol
  readonly #context: Pick<Context, 'clock' | 'random'>
  readonly #socket: WebSocket
  readonly #decoder: Decoder
  readonly #over = new AbortController()
  readonly #opened = createGate()
  readonly #live = createGate()
  readonly #due = createGate()
  readonly #ended = createGate<KimchiError | undefined>()
  readonly #closed = createGate()
  #dataFrames = 0
  #wanted: readonly Market[]
  #subscribed: readonly Market[] = []
  #isSubscribing = false
  /** Our messages that the exchange has not acknowledged, and the markets that they have added. */
  #unacknowledged = 0
  #added: readonly Market[] = []
  /** Aborts when it has ended. */
  readonly signal: AbortSignal = this.#over.signal
  /** Resolves when the handshake has succeeded, or when it has ended. */
  readonly opened = this.#opened.passed
  /** Resolves at the first data frame (snapshots are none: they repeat the past), or when it has ended. */
  readonly live = this.#live.passed
  /** Resolves when the connection is to be replaced: it is old, the exchange announces its end, or it has ended. */
  readonly due = this.#due.passed
  /** Resolves with the reason when nothing more is read from it, with undefined when we closed it. */
  readonly ended = this.#ended.passed

  constructor(socket: WebSocket, options: ConnectionOptions, context: Pick<Context, 'clock' | 'random'>) {
    this.#options = options
    this.#protocol = options.protocol
    this.#context = context
    this.#socket = socket
    this.#decoder = options.protocol.createDecoder()
    this.#wanted = options.markets
    this.#decoder.setMarkets(options.markets)
    socket.on('open', () => void this.#attend())
    // `ws` hands out one Buffer per message unless it is set otherwise.
    socket.on('message', frame => this.#receive(frame as Buffer))
    socket.on('unexpected-response', (_request, response) => this.#end(this.#refusedBy(response)))
    socket.on('error', error => this.#end(this.#socketError(error)))
    socket.on('close', (code, reason) => {
      this.#end(this.#refusal(`connection: closed with code ${code} ${reason}`.trimEnd()))
      this.#closed.open()
    })
    void this.#limitHandshake()
  }

  /** Changes the subscription on the same connection, as fast as the exchange's limits allow. */
  setMarkets(markets: readonly Market[]): void {
    this.#wanted = markets
    this.#decoder.setMarkets(markets)
    void this.#subscribe()
  }

  /** Sends the subscription again, for its snapshots. */
  renewSubscription(): void {
    this.#subscribed = []
    void this.#subscribe()
  }

  /** Closes it, by force when the peer does not answer. Resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#end()
    await this.#closed.passed
  }

  /** The first reason counts; whatever the socket reports afterwards only follows from it. */
  #end(error?: KimchiError): void {
    if (this.signal.aborted) return
    this.#over.abort()
    for (const gate of [this.#opened, this.#live, this.#due]) gate.open()
    this.#ended.open(error)
    if (error === undefined) this.#socket.close(1000)
    else this.#socket.terminate()
  }

  #receive(frame: Buffer): void {
    if (this.signal.aborted) return
    const decoded = this.#decoder.decode(frame, this.#context.clock.now())
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      this.#dataFrames += 1
      this.#live.open()
    }
    this.#options.onFrame(decoded, frame)
    if (decoded.kind === 'ack') this.#noteAcknowledgement()
    if (decoded.kind === 'shutdown') this.#due.open()
    if (decoded.kind === 'error') {
      const message = `${this.#protocol.exchange} error frame: ${decoded.message}`
      this.#end(new SubscriptionRefused('KIMCHI_ERR_FEED_REFUSED', message))
    }
  }

  /**
   * Runs when the socket opens: subscribes, pings, and ends the connection when it stalls. All up to the first
   * `await` runs within the `open` event, before any frame.
   */
  async #attend(): Promise<void> {
    const { exchange, maxAgeMs, stallAfterMs } = this.#protocol
    const { clock } = this.#context
    this.openedAt = clock.now()
    this.#opened.open()
    void this.#subscribe()
    void this.#ping()
    if (maxAgeMs !== undefined) void clock.wait(maxAgeMs, this.signal).then(() => this.#due.open())
    await this.#untilStalled()
    this.#end(new KimchiError('KIMCHI_ERR_FEED_STALLED', `${exchange} feed: no data for ${stallAfterMs} ms`))
  }

  async #limitHandshake(): Promise<void> {
    await this.#context.clock.wait(HANDSHAKE_TIMEOUT_MS, this.signal)
    if (this.openedAt === undefined)
      this.#end(this.#refusal(`handshake: no answer within ${HANDSHAKE_TIMEOUT_MS} ms`))
  }

  /** Changes that come faster than the exchange's message limit allows are joined into one. */
  async #subscribe(): Promise<void> {
    const { clock, random } = this.#context
    if (this.#isSubscribing || this.openedAt === undefined) return
    this.#isSubscribing = true
    while (this.#wanted !== this.#subscribed && !this.signal.aborted) {
      const [before, next] = [this.#subscribed, this.#wanted]
      const texts = this.#protocol.subscribe(before, next, Math.floor(random() * 2 ** 40))
      for (const text of texts) this.#socket.send(text)
      this.#unacknowledged += texts.length
      this.#added = [...this.#added, ...next.filter(market => !before.includes(market))]
      this.#subscribed = next
      await clock.wait(this.#protocol.sendSpacingMs, this.signal)
    }
    this.#isSubscribing = false
  }

  #noteAcknowledgement(): void {
    this.#unacknowledged -= 1
    if (this.#unacknowledged !== 0 || this.#added.length === 0) return
    this.#options.onAcknowledged?.(this.#added)
    this.#added = []
  }

  async #ping(): Promise<void> {
    const { pingEveryMs } = this.#protocol
    while (pingEveryMs !== undefined && !this.signal.aborted) {
      await this.#context.clock.wait(pingEveryMs, this.signal)
      if (!this.signal.aborted) this.#socket.ping()
    }
  }

  /**
   * Resolves when no data has come for nearly `stallAfterMs` of elapsed time, or when it has ended. It counts
   * checks instead of reading a clock, so that a process that was frozen receives its frames before it decides.
   */
  async #untilStalled(): Promise<void> {
    let seen = this.#dataFrames
    for (let silent = 0; silent < STALL_CHECKS && !this.signal.aborted; ) {
      await this.#context.clock.wait(this.#protocol.stallAfterMs / CHECKS, this.signal)
      silent = this.#dataFrames === seen ? silent + 1 : 0
      seen = this.#dataFrames
    }
  }

  #refusal(what: string): KimchiError {
    return new KimchiError('KIMCHI_ERR_FEED_REFUSED', `${this.#protocol.exchange} ${what}`)
  }

  #refusedBy(response: IncomingMessage): KimchiError {
    const { exchange } = this.#protocol
    const { statusCode: status = 0, headers } = response
    const retryAfterMs = statedWait({ status, header: headers['retry-after'] }, this.#context.clock.now())
    response.resume()
    return httpErrorOf(exchange, 'handshake', status, retryAfterMs)
  }

  #socketError(cause: Error): KimchiError {
    const code = 'code' in cause ? String(cause.code) : ''
    const kind = code.startsWith('WS_ERR_') ? 'KIMCHI_ERR_FRAME' : 'KIMCHI_ERR_FEED_REFUSED'
    const message = `${this.#protocol.exchange} connection: ${messageOf(cause) || code}`
    return new KimchiError(kind, message, { cause })
  }
}

/** A promise that others wait for until `open` is called; further calls change nothing. */
function createGate<T = void>(): { readonly passed: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {}
  const passed = new Promise<T>(resolve => {
    open = resolve
  })
  return { passed, open }
}
