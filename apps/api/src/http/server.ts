import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Milliseconds } from '@kimchi/core'
import type { ErrorCode } from '../contract/errors.ts'
import { errorResponse } from './error-response.ts'
import { headerOf } from './header.ts'
import { countResponse, type RequestCounters } from './request-counters.ts'
import type { HttpResponse } from './response.ts'
import { cutSlowReaders } from './slow-readers.ts'

/** What one client may take from the others. Durations in milliseconds, sizes in bytes. */
export interface Limits {
  /** Request line and headers together. */
  readonly maxHeaderSize: number
  /** From the first byte of a request, or from connecting, to the last of its headers. */
  readonly headersTimeout: Milliseconds
  /** To the end of its body, which is not used. */
  readonly requestTimeout: Milliseconds
  /** A connection without a request. Longer than the usual 60 s of a proxy in front, so that it is the proxy that closes. */
  readonly keepAliveTimeout: Milliseconds
  /** A response of which the reader takes nothing more. */
  readonly slowReaderTimeout: Milliseconds
  /** How often the three above are looked at. */
  readonly checkEvery: Milliseconds
  readonly maxConnections: number
}

/** What holds in production. */
export const LIMITS: Limits = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  slowReaderTimeout: 20_000,
  checkEvery: 1_000,
  maxConnections: 5_000,
}

/** For requests that announce no body: a stream for it costs a tenth of the whole. Known to Node from 24.12 on, ignored before. */
const WITHOUT_BODIES = { optimizeEmptyRequests: true }

/** Time for a refused client to read why, before the connection is cut. */
const LINGER_MS: Milliseconds = 500

/** A bare HTTP server with all limits set, whose own errors are JSON with CORS headers like any other response. */
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
      // Refused by us, because Node's own refusal is neither JSON nor readable by a page.
      requireHostHeader: false,
      ...WITHOUT_BODIES,
    },
    (request, response) => {
      const isAddressed = headerOf(request.rawHeaders, 'host') !== undefined || request.httpVersion === '1.0'
      if (isAddressed) listener(request, response)
      else refuseRequest(response, 'bad_request', counters)
    },
  )
  server.maxConnections = limits.maxConnections
  server.on('drop', () => {
    counters.cut.limit += 1
  })
  server.on('connect', (_request, socket) => refuse(socket, 'method_not_allowed', counters))
  server.on('checkExpectation', (_request, response) =>
    refuseRequest(response, 'unmet_expectation', counters),
  )
  cutSlowReaders(server, counters, limits)
  return server
}

/** Responds to what was not even a request: too large, too slow, malformed. */
export function refuseClient(error: NodeJS.ErrnoException, socket: Duplex, counters: RequestCounters): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  counters.cut.malformed += 1
  refuse(socket, codeOf(error), counters)
}

function codeOf({ code }: NodeJS.ErrnoException): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return 'bad_request'
}

function refuseRequest(response: ServerResponse, code: ErrorCode, counters: RequestCounters): void {
  const { status, headers, body } = errorResponse(code)
  countResponse(counters, 'other', status)
  response.writeHead(status, { ...headers, connection: 'close' }).end(body)
}

function refuse(socket: Duplex, code: ErrorCode, counters: RequestCounters): void {
  const error = errorResponse(code)
  countResponse(counters, 'other', error.status)
  // Node has let go of the socket: a reset by the client would be an unhandled error and end the process.
  socket.on('error', () => socket.destroy())
  socket.end(bytesOf(error))
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

function bytesOf({ status, headers, body }: HttpResponse): Buffer {
  const lines = Object.entries({ ...headers, date: new Date().toUTCString(), connection: 'close' })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body ?? Buffer.alloc(0)])
}
