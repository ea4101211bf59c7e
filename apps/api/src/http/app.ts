import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { fastifyCors } from '@fastify/cors'
import { type Context, isWorthALine } from '@kimchi/core'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fastify } from 'fastify'
import { ALLOWED_METHODS } from '../contract/errors.ts'
import { refuseClient } from './client-errors.ts'
import { errorResponse } from './error-response.ts'
import type { RequestCounters } from './request-counters.ts'
import { CORS_HEADERS, send } from './response.ts'
import { addRoutes, type RouteSources, routeOf } from './routes.ts'

/** What one client may take from the others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  /** To the end of a request's body, which is not used. */
  requestTimeout: 10_000,
  /** Longer than the usual 60 s of a proxy in front, so that it is the proxy that closes. */
  keepAliveTimeout: 65_000,
  /** For a reader that takes nothing; Node restarts it whenever a part of a response was taken. */
  connectionTimeout: 30_000,
  http: {
    /** Request line and headers together. */
    maxHeaderSize: 8_192,
    /** From the first byte of a request, or from connecting, to the last of its headers. */
    headersTimeout: 5_000,
    /** How often Node looks for requests that are late. */
    connectionsCheckingInterval: 1_000,
    /** Checked by us, because Node's own refusal is neither JSON nor readable by a page. */
    requireHostHeader: false,
    /** No stream for a body where none is announced. Known to Node from 24.12 on, ignored before. */
    optimizeEmptyRequests: true,
  },
}

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). */
const ROUTE_PATH = /^\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

/** What the app answers from. */
export interface AppOptions extends RouteSources, Pick<Context, 'log'> {
  readonly counters: RequestCounters
  /** @default LIMITS */
  readonly limits?: Partial<typeof LIMITS>
}

/**
 * The public API: two routes, and JSON with CORS headers for everything else. Reads no environment, does
 * not listen.
 */
export function createApp({ log, counters, limits, ...sources }: AppOptions): FastifyInstance {
  /** The newest response of each connection. */
  const newest = new WeakMap<Socket, ServerResponse>()
  const app: FastifyInstance = fastify({
    ...LIMITS,
    ...limits,
    clientErrorHandler: (error, socket) => refuseClient(error, socket, newest.get(socket), counters),
    // The router's complaints: about a path that can't be decoded.
    frameworkErrors: (_error, request, reply) => {
      counters.count('other', 400, 0)
      send(reply, errorResponse('bad_url', request.url))
    },
    // A draining replica still answers: its connected clients have nowhere else to go.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/' }) => pathOf(url),
    // A long symbol is a malformed symbol; the header limit bounds it.
    routerOptions: { maxParamLength: LIMITS.http.maxHeaderSize, querystringParser: onlyDays },
    ajv: { customOptions: { coerceTypes: false, allErrors: false } },
  })
  app.server.maxConnections = 5_000
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, httpVersion, socket } = request.raw
    newest.set(socket, reply.raw)
    // Node reads nothing more of what came with an offer of another protocol.
    if (headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false
    if (headers.host !== undefined || httpVersion === '1.0') return done()
    reply.raw.shouldKeepAlive = false
    send(reply, errorResponse('bad_request'))
  })
  app.addHook('onResponse', (request, { raw, elapsedTime }, done) => {
    counters.count(routeOf(request), raw.statusCode, elapsedTime)
    done()
  })
  answerPreflights(app)
  refuseTheRest(app, log)
  addRoutes(app, sources)
  return app
}

/** In preParsing: after onRequest, in which the routes answer from documents at hand. */
function answerPreflights(app: FastifyInstance): void {
  app.register(fastifyCors, {
    hook: 'preParsing',
    methods: ALLOWED_METHODS,
    allowedHeaders: 'If-None-Match, *',
    exposedHeaders: CORS_HEADERS['access-control-expose-headers'],
    maxAge: 86_400,
    strictPreflight: false,
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A 204 has no length. @see RFC 9110 §8.6
    reply.header('allow', ALLOWED_METHODS).removeHeader('content-length')
    done()
  })
}

function refuseTheRest(app: FastifyInstance, log: Context['log']): void {
  // Neither route takes a body, so none is read.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  const refuseUnrouted = ({ method, url }: FastifyRequest, reply: FastifyReply) => {
    const path = url.split('?', 1)[0] ?? ''
    const isReading = method === 'GET' || method === 'HEAD'
    const code = !isReading && ROUTE_PATH.test(path) ? 'method_not_allowed' : 'no_such_route'
    send(reply, errorResponse(code, code === 'no_such_route' ? path : method))
  }
  app.setNotFoundHandler(refuseUnrouted)
  let failures = 0
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    // Such as a QUERY without a body: what is wrong with it matters less than that it has no route.
    if (request.is404) return refuseUnrouted(request, reply)
    const { params, query } = request as { params: { symbol?: unknown }; query: { days?: unknown } }
    if (error.validationContext === 'params')
      return send(reply, errorResponse('invalid_symbol', params.symbol))
    if (error.validationContext === 'querystring')
      return send(reply, errorResponse('invalid_days', query.days))
    failures += 1
    if (isWorthALine(failures)) log.error({ err: error, failures }, 'request failed')
    return send(reply, errorResponse('internal'))
  })
}

/** Proxies may send the whole URL, and `OPTIONS *` names no path at all. @see RFC 9112 §3.2 */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** The only key that means anything, as a number where it looks like one; repeated keys stay apart. */
function onlyDays(query: string): Record<string, unknown> {
  const values = query === '' ? [] : new URLSearchParams(query).getAll('days')
  const [text] = values
  if (text === undefined) return {}
  if (values.length > 1) return { days: values }
  return { days: /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text }
}
