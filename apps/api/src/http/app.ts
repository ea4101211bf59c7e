import { createServer, type RequestListener } from 'node:http'
import { fastifyCors } from '@fastify/cors'
import { type Context, isWorthALine } from '@kimchi/core'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fastify } from 'fastify'
import { ALLOWED_METHODS } from '../contract/errors.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import { Responder } from './responder.ts'
import { CORS_HEADERS, type HttpResponse } from './response.ts'
import { addRoutes } from './routes.ts'

/** Keep one client from slowing down the others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  /** For a client that reads nothing, which is cut after once or twice this. */
  unreadTimeout: 22_500,
  connections: 5_000,
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

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). */
const ROUTE_PATH = /^\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

export interface AppOptions extends Pick<Context, 'clock' | 'log'> {
  readonly documents: Documents
  /** @default LIMITS */
  readonly limits?: Partial<typeof LIMITS>
}

/** The public API: two routes, and JSON with CORS headers for everything else. Does not listen. */
export function createApp({ documents, clock, log, limits }: AppOptions) {
  const { unreadTimeout, connections, server } = { ...LIMITS, ...limits }
  const responder = new Responder(unreadTimeout)
  const app: FastifyInstance = fastify({
    serverFactory: handle => {
      const answer: RequestListener = (request, response) => {
        if (responder.begin(request, response)) handle(request, response)
      }
      return createServer(server, answer).on('connection', socket => responder.open(socket))
    },
    clientErrorHandler: (error, socket) => responder.refuse(error, socket),
    // The router complains about a path that can't be decoded, before any hook.
    frameworkErrors: (_error, request, reply) => responder.send(reply, errorResponse('bad_url', request.url)),
    // A draining replica still answers the clients that are connected to it.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/' }) => pathOf(url),
    // A symbol that is too long is malformed, not unrouted; the header limit bounds it.
    routerOptions: { maxParamLength: server.maxHeaderSize, querystringParser: query => ({ query }) },
  })
  app.server.maxConnections = connections
  // It runs before any route's own hook, and for requests without a route too.
  app.addHook('onRequest', (request, reply, done) => {
    // After an Upgrade header Node reads nothing more from the connection.
    if (request.raw.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false
    const response = responseWithoutRoute(request, reply)
    if (response === undefined) done()
    else responder.send(reply, response)
  })
  answerPreflights(app, responder)
  let failures = 0
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    failures += 1
    if (isWorthALine(failures)) log.error({ err: error, failures }, 'request failed')
    return responder.send(reply, errorResponse('internal'))
  })
  addRoutes(app, { documents, responder, clock })
  return { app, durations: responder.durations }
}

/** CORS runs in preParsing, after the onRequest hooks that answer all other requests. */
function answerPreflights(app: FastifyInstance, responder: Responder): void {
  app.register(fastifyCors, {
    hook: 'preParsing',
    methods: ALLOWED_METHODS,
    allowedHeaders: 'If-None-Match, *',
    exposedHeaders: CORS_HEADERS['access-control-expose-headers'],
    maxAge: 86_400,
    strictPreflight: false,
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    responder.count(reply, 'other', reply.statusCode)
    // A 204 has no length. @see RFC 9110 §8.6
    reply.header('allow', ALLOWED_METHODS).removeHeader('content-length')
    done()
  })
}

/** The response to a request that no route answers; undefined for any other. Its body is never read. */
function responseWithoutRoute(request: FastifyRequest, reply: FastifyReply): HttpResponse | undefined {
  const { method, url } = request
  const { headers, httpVersion } = request.raw
  if (headers.host === undefined && httpVersion !== '1.0') {
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

/** Proxies may send the whole URL, and `OPTIONS *` names no path at all. @see RFC 9112 §3.2 */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}
