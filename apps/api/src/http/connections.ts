import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '@kimchi/core'
import { type Durations, Histogram } from '@kimchi/runtime'
import type { FastifyReply } from 'fastify'
import type { ErrorCode } from '../contract/errors.ts'
import { errorResponse } from './error-response.ts'
import type { HttpResponse } from './response.ts'

/** Limits that keep clients from slowing down others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  connections: 5_000,
  /** For a client that reads nothing: its connection is cut after 22.5 to 45 s. */
  unreadTimeout: 22_500,
  /** Requests that wait for an earlier one of their connection, on all connections; each takes 4 kB. */
  pipelined: 4_000,
  /** A refused client gets this long to read why, before its connection is cut. */
  linger: 500,
  server: {
    /** Request line and headers together. */
    maxHeaderSize: 8_192,
    /** From the first byte of a request, or from connecting, to the last of its headers. */
    headersTimeout: 5_000,
    /** Until the end of a request's body, which nothing reads. */
    requestTimeout: 10_000,
    /** Longer than the usual 60 s of a proxy in front, so that it is the proxy that closes. */
    keepAliveTimeout: 65_000,
    /** How often Node looks for requests that are late. */
    connectionsCheckingInterval: 1_000,
    /** The app checks it, because Node's own refusal is neither JSON nor readable by a page. */
    requireHostHeader: false,
    /** Creates no stream for a body that no header announces. Node ignores it before 24.12. */
    optimizeEmptyRequests: true,
  },
}

/** What responses are counted by: the two routes, and everything else. */
export type Route = 'live' | 'daily' | 'other'

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Requests of one connection that are not answered yet, oldest first. */
interface PendingRequests {
  readonly responses: { readonly response: ServerResponse; readonly askedAt: number }[]
  isRefused: boolean
}

/**
 * Sends and counts all responses, and cuts connections, so that memory stays bounded whatever clients ask for
 * and don't read.
 */
export class Connections {
  readonly durations = new Histogram(
    'kimchi_api_request_duration_seconds',
    'From the headers of a request to its response being handed over, by route and status.',
  )
  readonly #byStatus: Readonly<Record<Route, Durations[]>> = { live: [], daily: [], other: [] }
  readonly #limits: typeof LIMITS
  readonly #pending = new Map<Socket, PendingRequests>()
  #pipelined = 0

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** Notes a connection, before its first request. */
  open(socket: Socket): void {
    this.#pending.set(socket, { responses: [], isRefused: false })
    socket.once('close', () => this.#forget(socket))
  }

  /** Notes a request; false when its connection was cut, so that nobody waits for a response. */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const pending = this.#pending.get(socket)
    if (pending === undefined) return false
    this.#forgetSent(pending)
    if (pending.responses.push({ response, askedAt: performance.now() }) > 1) {
      this.#pipelined += 1
      this.#cutUnlessRead(socket)
      if (this.#pipelined > this.#limits.pipelined) this.#cutLongest()
    }
    return !socket.destroyed
  }

  /** Sends a response past Fastify, which would only add time. */
  send(reply: FastifyReply, { status, headers, body }: HttpResponse, route: Route = 'other'): void {
    const { raw, request } = reply.hijack()
    raw.writeHead(status, headers)
    const last = (body?.length ?? 0) - 1
    for (let n = 0; n < last; n++) raw.write(body?.[n])
    raw.end(body?.[last])
    if (request.raw.socket.writableLength > 0) this.#cutUnlessRead(request.raw.socket)
    this.count(reply, route, status)
  }

  /** Counts a response that Node has been given to send. */
  count({ raw, request }: FastifyReply, route: Route, status: number): void {
    const asked = this.#pending
      .get(request.raw.socket)
      ?.responses.findLast(({ response }) => response === raw)
    const ms = asked === undefined ? 0 : performance.now() - asked.askedAt
    this.#observe(route, status, ms)
  }

  /** Answers a client whose request Node could not parse (too large, too slow, malformed), after what came before. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    const pending = this.#pending.get(socket)
    // Node reports every further chunk as another error.
    if (pending === undefined || pending.isRefused) return
    pending.isRefused = true
    const finish = () => {
      if (!socket.writable) return
      const response = errorResponse(CODES[error.code ?? ''] ?? 'bad_request')
      this.#observe('other', response.status, 0)
      socket.end(textOf(response))
      setTimeout(() => socket.destroy(), this.#limits.linger).unref()
    }
    const last = pending.responses.at(-1)?.response
    if (last === undefined || last.closed) finish()
    else last.once('close', finish)
  }

  #observe(route: Route, status: number, ms: Milliseconds): void {
    const known = this.#byStatus[route]
    known[status] ??= this.durations.labelled({ route, status })
    known[status].observe(ms / 1_000)
  }

  #forgetSent({ responses }: PendingRequests): void {
    while (responses[0]?.response.closed) {
      responses.shift()
      if (responses.length > 0) this.#pipelined -= 1
    }
  }

  #forget(socket: Socket): void {
    const { length = 0 } = this.#pending.get(socket)?.responses ?? {}
    this.#pipelined -= Math.max(length - 1, 0)
    this.#pending.delete(socket)
  }

  /** Node restarts the time whenever the client reads, and ends it when nothing is left to be sent. */
  #cutUnlessRead(socket: Socket): void {
    const { unreadTimeout } = this.#limits
    if (socket.timeout !== unreadTimeout) socket.setTimeout(unreadTimeout)
  }

  /** Cuts the connection with the most requests, and reads from no other until its memory is free. */
  #cutLongest(): void {
    for (const pending of this.#pending.values()) this.#forgetSent(pending)
    if (this.#pipelined <= this.#limits.pipelined) return
    const [longest] = [...this.#pending].reduce((a, b) =>
      b[1].responses.length > a[1].responses.length ? b : a,
    )
    longest.destroy()
    this.#forget(longest)
    // Node would read 64 kB from each before anyone is answered: a thousand requests.
    // The newest goes first, having waited behind all others.
    const others = [...this.#pending.keys()].reverse()
    for (const socket of others) socket.pause()
    setImmediate(() => {
      for (const socket of others) socket.resume()
    })
  }
}

function textOf({ status, headers, body = [] }: HttpResponse): string {
  const fields = [...headers, 'date', new Date().toUTCString(), 'connection', 'close']
  const lines = fields.map((field, index) => (index % 2 === 0 ? `${field}: ` : `${field}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body.join('')}`
}
