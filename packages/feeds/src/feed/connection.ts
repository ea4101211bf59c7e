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
import type { Decoded, Protocol } from './protocol.ts'
import { createSubscription } from './subscription.ts'

const HANDSHAKE_TIMEOUT_MS: Milliseconds = 10_000

/** We cut off a peer that takes longer to answer our close frame. */
const CLOSE_GRACE_MS: Milliseconds = 500

/** No documented frame comes near this; larger ones end the connection. */
const MAX_FRAME_BYTES = 1_048_576

/**
 * Checks within `stallAfterMs`. A connection has stalled when 28 in a row found no new frame, which leaves time
 * for the first retry within the limit.
 */
const CHECKS = 30
const STALL_CHECKS = 28

/** What one connection is opened with. Callbacks run synchronously and must not throw. */
export interface ConnectionOptions {
  readonly protocol: Protocol
  /** One of the protocol's bases. */
  readonly base: string
  readonly userAgent: string
  readonly markets: readonly Market[]
  readonly onFrame: (decoded: Decoded) => void
  /** From now on every trade of these markets is followed by a frame: the exchange has said so. */
  readonly onAcknowledged?: (markets: readonly Market[]) => void
}

/** One WebSocket from its handshake to its end. It never reconnects; the feed does. */
export interface Connection {
  readonly base: string
  /** When the handshake succeeded; undefined before. */
  readonly openedAt: EpochMs | undefined
  /** Resolves when the handshake has succeeded, or when it has ended. */
  readonly opened: Promise<void>
  /** Resolves at the first data frame (snapshots are none: they repeat the past), or when it has ended. */
  readonly live: Promise<void>
  /** Resolves when it is old or the exchange announces its end, or when it has ended. */
  readonly due: Promise<void>
  /** Resolves with the reason when nothing more is read from it, with undefined when we closed it. */
  readonly ended: Promise<KimchiError | undefined>
  /** Aborts when it has ended. */
  readonly signal: AbortSignal
  /** Changes the subscription on the same connection, as fast as the exchange's limits allow. */
  setMarkets(markets: readonly Market[]): void
  /** Sends the subscription again, for its snapshots. */
  renewSubscription(): void
  /** Closes it, by force when the peer does not answer. Resolves when the socket is closed. */
  close(): Promise<void>
}

/** Opens a socket, subscribes when it is open, and hands on its frames until it ends. */
export function openConnection(
  options: ConnectionOptions,
  context: Pick<Context, 'clock' | 'random'>,
): Connection {
  const { protocol, base, userAgent, onFrame, onAcknowledged } = options
  const { clock } = context
  const over = new AbortController()
  const { signal } = over
  const opened = createGate()
  const live = createGate()
  const due = createGate()
  const ended = createGate<KimchiError | undefined>()
  const closed = createGate()
  const decoder = protocol.createDecoder()
  const socket = openSocket(protocol.urlOf(base), userAgent)
  const subscription = createSubscription(protocol, text => socket.send(text), { ...context, signal })
  let { markets } = options
  let openedAt: EpochMs | undefined
  let dataFrames = 0
  decoder.setMarkets(markets)

  /** The first reason counts; whatever the socket reports afterwards only follows from it. */
  const end = (error?: KimchiError) => {
    if (signal.aborted) return
    over.abort()
    for (const gate of [opened, live, due]) gate.open()
    ended.open(error)
    if (error === undefined && socket.readyState === WebSocket.OPEN)
      void closeSocket(socket, closed.passed, clock)
    else socket.terminate()
  }
  const receive = (frame: RawData) => {
    if (signal.aborted) return
    // `ws` hands out one Buffer per message unless it is set otherwise.
    const decoded = decoder.decode(frame as Buffer, clock.now())
    if (decoded.kind === 'tick' && decoded.tick.origin === 'stream') {
      dataFrames += 1
      live.open()
    }
    onFrame(decoded)
    if (decoded.kind === 'ack') {
      const acknowledged = subscription.acknowledge(decoded.id)
      if (acknowledged.length > 0) onAcknowledged?.(acknowledged)
    }
    if (decoded.kind === 'shutdown') due.open()
    if (decoded.kind === 'error') end(refusal(protocol, `error frame: ${decoded.message}`))
  }
  /** What happens on an open socket besides its frames; the first part runs within the event. */
  const attend = async () => {
    openedAt = clock.now()
    opened.open()
    subscription.set(markets)
    void pingUntilAborted(socket, protocol, { clock, signal })
    if (protocol.maxAgeMs !== undefined) void clock.wait(protocol.maxAgeMs, signal).then(() => due.open())
    await untilStalled(() => dataFrames, protocol.stallAfterMs, { clock, signal })
    const text = `${protocol.exchange} feed: no data for ${protocol.stallAfterMs} ms`
    end(new KimchiError('KIMCHI_ERR_FEED_STALLED', text))
  }
  const limitHandshake = async () => {
    await clock.wait(HANDSHAKE_TIMEOUT_MS, signal)
    if (openedAt === undefined)
      end(refusal(protocol, `handshake: no answer within ${HANDSHAKE_TIMEOUT_MS} ms`))
  }
  socket.on('open', () => void attend())
  socket.on('message', receive)
  socket.on('unexpected-response', (_request, response) => end(refusedBy(protocol, response, clock.now())))
  socket.on('error', error => end(socketError(protocol, error)))
  socket.on('close', (code, reason) => {
    end(refusal(protocol, `connection: closed with code ${code} ${reason}`.trimEnd()))
    closed.open()
  })
  void limitHandshake()
  return {
    base,
    get openedAt() {
      return openedAt
    },
    opened: opened.passed,
    live: live.passed,
    due: due.passed,
    ended: ended.passed,
    signal,
    setMarkets: next => {
      markets = next
      decoder.setMarkets(next)
      if (openedAt !== undefined) subscription.set(next)
    },
    renewSubscription: () => {
      if (openedAt !== undefined) subscription.renew()
    },
    close: async () => {
      end()
      await closed.passed
    },
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

function openSocket(url: string, userAgent: string): WebSocket {
  return new WebSocket(url, {
    headers: { 'User-Agent': userAgent },
    followRedirects: false,
    // Without compression a deflate bomb is a protocol error, and frames this small gain little from it.
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    // The decoder checks the bytes, so that a bad frame costs a frame and not the connection.
    skipUTF8Validation: true,
  })
}

async function closeSocket(socket: WebSocket, closed: Promise<void>, clock: Context['clock']): Promise<void> {
  socket.close(1000)
  const done = new AbortController()
  void closed.then(() => done.abort())
  await clock.wait(CLOSE_GRACE_MS, done.signal)
  socket.terminate()
}

async function pingUntilAborted(
  socket: WebSocket,
  { pingEveryMs }: Protocol,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  while (pingEveryMs !== undefined && !signal.aborted) {
    await clock.wait(pingEveryMs, signal)
    if (!signal.aborted) socket.ping()
  }
}

/**
 * Resolves when no data has come for nearly `stallAfterMs` of elapsed time, or when `signal` aborts. It counts
 * checks instead of reading a clock, so that a process that was frozen receives its frames before it decides.
 */
async function untilStalled(
  countFrames: () => number,
  stallAfterMs: Milliseconds,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  let seen = countFrames()
  for (let silent = 0; silent < STALL_CHECKS && !signal.aborted; ) {
    await clock.wait(stallAfterMs / CHECKS, signal)
    silent = countFrames() === seen ? silent + 1 : 0
    seen = countFrames()
  }
}

function refusal({ exchange }: Protocol, what: string, cause?: Error): KimchiError {
  return new KimchiError('KIMCHI_ERR_FEED_REFUSED', `${exchange} ${what}`, { cause })
}

function refusedBy({ exchange }: Protocol, response: IncomingMessage, now: EpochMs): KimchiError {
  const retryAfterMs = parseRetryAfter(response.headers['retry-after'], now)
  response.resume()
  return httpErrorOf({ exchange, what: 'handshake', status: response.statusCode ?? 0, retryAfterMs })
}

function socketError(protocol: Protocol, cause: Error): KimchiError {
  const code = 'code' in cause ? String(cause.code) : ''
  const { message } = refusal(protocol, `connection: ${messageOf(cause) || code}`)
  const kind = code.startsWith('WS_ERR_') ? 'KIMCHI_ERR_FRAME' : 'KIMCHI_ERR_FEED_REFUSED'
  return new KimchiError(kind, message, { cause })
}
