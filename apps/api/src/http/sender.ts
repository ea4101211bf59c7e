import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '@kimchi/core'
import { createHistogram } from '@kimchi/runtime'
import type { FastifyReply } from 'fastify'
import type { ErrorCode } from '../contract/errors.ts'
import type { Connections } from './connections.ts'
import { errorResponse } from './error-response.ts'
import type { HttpResponse } from './response.ts'

/** The label that responses are counted under: one of the two routes, or anything else. */
export type Route = 'live' | 'daily' | 'other'

/** A refused client gets this long to read why, before its connection is cut. */
const LINGER_MS: Milliseconds = 500

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Sends and counts all responses. */
export class Sender {
  readonly durations = createHistogram(
    'kimchi_api_request_duration_seconds',
    'From when a route began to look for a response to its being handed over, by route and status.',
    ['route', 'status'],
  )
  readonly #connections: Connections
  readonly #refused = new WeakSet<Socket>()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Sends a response past Fastify, which would only add time. @param askedAt when a route began to look for it */
  send(
    reply: FastifyReply,
    { status, headers, body }: HttpResponse,
    route: Route = 'other',
    askedAt = performance.now(),
  ): void {
    const { raw } = reply.hijack()
    raw.writeHead(status, headers)
    for (let n = 0; n < body.length - 1; n++) raw.write(body[n])
    raw.end(body.at(-1))
    this.count(status, route, askedAt)
  }

  /** Counts a response that Node has been given to send. */
  count(status: number, route: Route = 'other', askedAt = performance.now()): void {
    this.durations.observe({ route, status }, (performance.now() - askedAt) / 1_000)
  }

  /** Answers a client whose request Node could not parse (too large, too slow, malformed), after what came before. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    // Node reports every further chunk as another error.
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    this.#connections.whenAnswered(socket, () => {
      if (!socket.writable) return
      const response = errorResponse(CODES[error.code ?? ''] ?? 'bad_request')
      socket.end(textOf(response))
      setTimeout(() => socket.destroy(), LINGER_MS).unref()
      this.count(response.status)
    })
  }
}

function textOf({ status, headers, body }: HttpResponse): string {
  const fields = [...headers, 'date', new Date().toUTCString(), 'connection', 'close']
  const lines = fields.map((field, index) => (index % 2 === 0 ? `${field}: ` : `${field}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body.join('')}`
}
