import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Milliseconds } from '@kimchi/core'
import type { ErrorCode } from '../contract/errors.ts'
import { errorResponse } from './error-response.ts'
import { limitPipelining } from './pipelining.ts'
import { countResponse, type RequestCounters, stamp } from './request-counters.ts'
import { CORS_HEADERS, type HttpResponse, sendNow } from './response.ts'

/** What one client may take from the others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  /** Request line and headers together. */
  maxHeaderSize: 8_192,
  /** From the first byte of a request, or from connecting, to the last of its headers. */
  headersTimeout: 5_000,
  /** To the end of its body, which is not used. */
  requestTimeout: 10_000,
  /**
   * A connection without a request. Longer than the usual 60 s of a proxy in front, so that it is the proxy
   * that closes.
   */
  keepAliveTimeout: 65_000,
  /**
   * A reader that takes nothing is cut after once to twice this; one that takes 3 kB/s shows it every 22 s.
   */
  slowReaderTimeout: 30_000,
  /** How often the first three are looked at. */
  checkEvery: 1_000,
  maxConnections: 5_000,
}

/** {@link LIMITS}, or others in their place. */
export type Limits = Readonly<typeof LIMITS>

/**
 * For requests that announce no body: a stream for it costs a tenth of the whole. Known to Node from 24.12
 * on, ignored before.
 */
const WITHOUT_BODIES = { optimizeEmptyRequests: true }

/** Time for a refused client to read why, before the connection is cut. */
const LINGER_MS: Milliseconds = 500

/** The newest response of each connection; when it is done, so are all before it. */
const newest = new WeakMap<Duplex, ServerResponse>()

/** Connections that get an error and no more. */
const refused = new WeakSet<Duplex>()

/**
 * A bare HTTP server with all limits set, whose own errors are JSON with CORS headers like any other
 * response.
 */
export function createApiServer(
  listener: RequestListener,
  counters: RequestCounters,
  limits: Limits = LIMITS,
): Server {
  const { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout, checkEvery } = limits
  const server = createServer(
    {
      maxHeaderSize,
      headersTimeout,
      requestTimeout,
      keepAliveTimeout,
      connectionsCheckingInterval: checkEvery,
      // Checked by us, because Node's own refusal is neither JSON nor readable by a page.
      requireHostHeader: false,
      ...WITHOUT_BODIES,
    },
    (request, response) => {
      newest.set(request.socket, response)
      stamp(response)
      // Node reads nothing more of what had come with such a request, a broken promise if we kept it alive.
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
      const hosts = countHosts(request.rawHeaders)
      if (hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')) listener(request, response)
      else refuseRequest(response, 'bad_request', counters)
    },
  )
  server.maxConnections = limits.maxConnections
  // Their bytes are bounded; by number Node would leave some out unseen, a second Host among them.
  server.maxHeadersCount = 0
  server.on('drop', () => {
    counters.cut.limit += 1
  })
  server.on('checkExpectation', (_request, response) => {
    refuseRequest(response, 'unmet_expectation', counters)
  })
  // Node restarts the time whenever a part of what is unsent was taken; it has a time of its own for idle
  // connections.
  const cut = (socket: Socket) => {
    if (socket.writableLength > 0) counters.cut['slow-reader'] += 1
    socket.destroy()
  }
  server.setTimeout(limits.slowReaderTimeout, cut)
  refuseConnects(server, counters, socket => {
    socket.setTimeout(limits.slowReaderTimeout, () => cut(socket))
  })
  limitPipelining(server)
  return server
}

/**
 * Node lets go of the socket of a CONNECT: neither the server's timeout nor its end reaches it, though
 * responses may still wait there to be read.
 * @param limit bounds how long it may stay
 */
function refuseConnects(server: Server, counters: RequestCounters, limit: (socket: Socket) => void): void {
  const letGo = new Set<Socket>()
  server.on('connect', (_request, socket: Socket) => {
    letGo.add(socket)
    socket.once('close', () => letGo.delete(socket))
    limit(socket)
    refuse(socket, 'method_not_allowed', counters)
  })
  const closeKnown = server.closeAllConnections
  server.closeAllConnections = () => {
    closeKnown.call(server)
    for (const socket of letGo) socket.destroy()
  }
}

/** Responds to what was not even a request: too large, too slow, malformed. */
export function refuseClient(error: NodeJS.ErrnoException, socket: Duplex, counters: RequestCounters): void {
  if (refused.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  counters.cut.malformed += 1
  refuse(socket, codeOf(error), counters)
}

/** More than one is how requests are smuggled past proxies. @see RFC 9112 §3.2 */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

function codeOf({ code }: NodeJS.ErrnoException): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return 'bad_request'
}

function refuseRequest(response: ServerResponse, code: ErrorCode, counters: RequestCounters): void {
  const error = errorResponse(code)
  countResponse(counters, 'other', error.status, response)
  response.shouldKeepAlive = false
  sendNow(response, error)
}

/** Sends an error on a connection without a request, after the responses that are still under way on it. */
function refuse(socket: Duplex, code: ErrorCode, counters: RequestCounters): void {
  refused.add(socket)
  // Node has let go of the socket: a reset by the client would be an unhandled error and end the process.
  socket.on('error', () => socket.destroy())
  const last = newest.get(socket)
  if (last === undefined || last.closed) finish()
  else last.once('close', finish)

  function finish() {
    const error = errorResponse(code)
    countResponse(counters, 'other', error.status)
    socket.end(bytesOf(error))
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

function bytesOf({ status, headers, body }: HttpResponse): Buffer {
  const fields = { ...headers, ...CORS_HEADERS, date: new Date().toUTCString(), connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`),
    ...body,
  ])
}
