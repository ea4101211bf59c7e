import { type RequestListener, Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { fastifyCors } from '@fastify/cors'
import { type Context, isWorthALine } from '@kimchi/core'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fastify } from 'fastify'
import { ALLOWED_METHODS } from '../contract/errors.ts'
import type { Documents } from '../documents/documents.ts'
import { Connections, LIMITS } from './connections.ts'
import { errorResponse } from './error-response.ts'
import { CORS_HEADERS, type HttpResponse } from './response.ts'
import { addRoutes } from './routes.ts'
import { Sender } from './sender.ts'

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). Proxies may send the whole URL. */
const ROUTE_PATH = /^(https?:\/\/[^/]+)?\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

/** What a Host header may say; two of them come joined by a comma. @see RFC 9112 §3.2 */
const HOST = /^[\w.~!$&'()*+;=%:[\]-]*$/

export interface AppOptions extends Pick<Context, 'clock' | 'log'> {
  readonly documents: Documents
  /** @default LIMITS */
  readonly limits?: Partial<typeof LIMITS>
}

/** The public API: two routes, and JSON with CORS headers for everything else. Does not listen. */
export function createApp({ documents, clock, log, limits: changed }: AppOptions) {
  const limits = { ...LIMITS, ...changed }
  const connections = new Connections(limits)
  const sender = new Sender(connections)
  const app: FastifyInstance = fastify({
    serverFactory: handle => {
      const answer: RequestListener = (request, response) =>
        connections.begin(request, response, () => handle(request, response))
      // Node would answer an Expect that it doesn't know itself, past every limit.
      return new CallersServer(limits.server, connections)
        .on('request', answer)
        .on('checkExpectation', answer)
    },
    clientErrorHandler: (error, socket) => sender.refuse(error, socket),
    // The router complains about a path that can't be decoded, before any hook.
    frameworkErrors: (_error, request, reply) => sender.send(reply, errorResponse('bad_url', request.url)),
    // A draining replica still answers the clients that are connected to it.
    return503OnClosing: false,
    // An overlong symbol gets `invalid_symbol` (400), not 404; the header limit bounds its length. A query of 8 kB,
    // parsed, would take 100 kB for as long as its request waits.
    routerOptions: { maxParamLength: limits.server.maxHeaderSize, querystringParser: query => ({ query }) },
  })
  app.server.maxConnections = limits.connections
  // It runs before any route's own hook, and for requests without a route too.
  app.addHook('onRequest', (request, reply, done) => {
    // Node drops what came in the same read after a request with an Upgrade header: it would get no answer.
    if (request.raw.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false
    const response = responseWithoutRoute(request, reply)
    if (response === undefined) done()
    else sender.send(reply, response)
  })
  answerPreflights(app, sender)
  let failures = 0
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    failures += 1
    if (isWorthALine(failures)) log.error({ err: error, failures }, 'request failed')
    return sender.send(reply, errorResponse('internal'))
  })
  addRoutes(app, { documents, sender, clock })
  return { app, durations: sender.durations }
}

/**
 * Serves a connection once it has begun as a caller's does: Node serves the sockets that are emitted.
 * @see https://nodejs.org/api/http.html#event-connection
 */
class CallersServer extends Server {
  readonly #connections: Connections

  constructor(options: ServerOptions, connections: Connections) {
    super(options)
    this.#connections = connections
  }

  override emit(event: string, ...args: unknown[]): boolean {
    const serve = () => super.emit(event, ...args)
    if (event !== 'connection') return serve()
    this.#connections.open(args[0] as Socket, serve)
    return true
  }

  /** Also those that have said nothing yet. */
  override closeAllConnections(): void {
    super.closeAllConnections()
    this.#connections.closeAll()
  }
}

/** CORS runs in preParsing, after the onRequest hooks that answer all other requests. */
function answerPreflights(app: FastifyInstance, sender: Sender): void {
  app.register(fastifyCors, {
    hook: 'preParsing',
    methods: ALLOWED_METHODS,
    allowedHeaders: 'If-None-Match, *',
    exposedHeaders: CORS_HEADERS['access-control-expose-headers'],
    maxAge: 86_400,
    strictPreflight: false,
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    sender.count(reply.statusCode)
    // A 204 has no length. @see RFC 9110 §8.6
    reply.header('allow', ALLOWED_METHODS).removeHeader('content-length')
    done()
  })
}

/** The response to a request without a route or a usable Host; undefined for any other. Its body is never read. */
function responseWithoutRoute(request: FastifyRequest, reply: FastifyReply): HttpResponse | undefined {
  const { method, url } = request
  const { headers, httpVersion } = request.raw
  if (headers.host === undefined ? httpVersion !== '1.0' : !HOST.test(headers.host)) {
    reply.raw.shouldKeepAlive = false
    return errorResponse('bad_request')
  }
  if (method === 'OPTIONS' || !request.is404) return undefined
  const path = url.split('?', 1)[0] ?? ''
  const isReading = method === 'GET' || method === 'HEAD'
  return !isReading && ROUTE_PATH.test(path)
    ? errorResponse('method_not_allowed', method)
    : errorResponse('no_such_route', path)
}
