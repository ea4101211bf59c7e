import { fastifyCors } from '@fastify/cors'
import { type Context, isWorthALine } from '@kimchi/core'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { ALLOWED_METHODS, type ErrorCode } from '../contract/errors.ts'
import { errorResponse } from './error-response.ts'
import { CORS_HEADERS } from './response.ts'
import { addDailyRoute, addLiveRoute, type RouteOptions, send } from './routes.ts'
import { createApiServer, LIMITS, type Limits, refuseClient } from './server.ts'

/** What the app answers from. */
export interface AppOptions extends RouteOptions, Pick<Context, 'log'> {
  /** @default LIMITS */
  readonly limits?: Limits
}

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). */
const ROUTE_PATH = /^\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

/**
 * The public API: two routes, and JSON with CORS headers for everything else. Reads no environment, does
 * not listen.
 */
export function createApp({ log, limits = LIMITS, ...options }: AppOptions): FastifyInstance {
  const { counters } = options
  const app: FastifyInstance = fastify({
    serverFactory: listener => createApiServer(listener, counters, limits),
    clientErrorHandler: (error, socket) => refuseClient(error, socket, counters),
    frameworkErrors: (error, request, reply) => {
      const code = error.code === 'FST_ERR_BAD_URL' ? 'bad_url' : 'internal'
      send(reply.headers(CORS_HEADERS), 'other', options, errorResponse(code, request.url))
    },
    // A draining replica still answers: its connected clients have nowhere else to go.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/' }) => pathOf(url),
    // A long symbol is a malformed symbol; the header limit bounds it.
    routerOptions: { maxParamLength: limits.maxHeaderSize, querystringParser: onlyDays },
    ajv: { customOptions: { coerceTypes: false, allErrors: false } },
  })
  // After onRequest, in which the routes answer from documents at hand.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.method === 'OPTIONS') reply.header('allow', ALLOWED_METHODS)
    done()
  })
  app.register(fastifyCors, {
    hook: 'preParsing',
    methods: ALLOWED_METHODS,
    allowedHeaders: 'If-None-Match, *',
    exposedHeaders: CORS_HEADERS['access-control-expose-headers'],
    maxAge: 86_400,
    strictPreflight: false,
  })
  // Neither route takes a body, so none is read.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  const refuseUnrouted = ({ method, url }: FastifyRequest, reply: FastifyReply) => {
    const path = url.split('?', 1)[0] ?? ''
    const isReading = method === 'GET' || method === 'HEAD'
    const error =
      !isReading && ROUTE_PATH.test(path)
        ? errorResponse('method_not_allowed', method)
        : errorResponse('no_such_route', path)
    send(reply, 'other', options, error)
  }
  app.setNotFoundHandler(refuseUnrouted)
  let failures = 0
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    // Such as a QUERY without a body: what is wrong with it matters less than that it has no route.
    if (request.is404) return refuseUnrouted(request, reply)
    const { params, query } = request
    const refuse = (code: ErrorCode, got?: unknown) => send(reply, 'daily', options, errorResponse(code, got))
    if (error.validationContext === 'params') return refuse('invalid_symbol', fieldOf(params, 'symbol'))
    if (error.validationContext === 'querystring') return refuse('invalid_days', fieldOf(query, 'days'))
    failures += 1
    if (isWorthALine(failures)) log.error({ err: error, failures }, 'request failed')
    return send(reply, 'other', options, errorResponse('internal'))
  })
  addLiveRoute(app, options)
  addDailyRoute(app, options)
  return app
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

function fieldOf(values: unknown, name: string): unknown {
  return (values as Readonly<Record<string, unknown>>)[name]
}
