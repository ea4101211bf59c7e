import type { Clock } from '@kimchi/core'
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  fastify,
  LogController,
} from 'fastify'
import { ALLOWED_METHODS, type ErrorCode } from '../contract/errors.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import { fastPath } from './fast-path.ts'
import { createRequestCounters, type RequestCounters } from './request-counters.ts'
import { COMMON_HEADERS } from './response.ts'
import { addDailyRoute, addLiveRoute, sendResponse } from './routes.ts'
import { createApiServer, LIMITS, type Limits, refuseClient } from './server.ts'

/** What the app answers from. */
export interface AppOptions {
  readonly documents: Documents
  readonly log: FastifyBaseLogger
  readonly clock: Clock
  /** Where responses are counted. @default counters of its own */
  readonly counters?: RequestCounters
  /** @default LIMITS */
  readonly limits?: Limits
}

/** A browser asks this before it sends `If-None-Match`; the response is good for a day. */
const OPTIONS_HEADERS = {
  allow: ALLOWED_METHODS,
  'access-control-allow-methods': ALLOWED_METHODS,
  'access-control-allow-headers': 'If-None-Match, *',
  'access-control-max-age': '86400',
  'content-length': '0',
  ...COMMON_HEADERS,
} as const

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). */
const ROUTE_PATH = /^\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

/** The public API: two routes, and JSON with CORS headers for everything else. Reads no environment, does not listen. */
export function createApp({
  documents,
  log,
  clock,
  counters = createRequestCounters(),
  limits = LIMITS,
}: AppOptions): FastifyInstance {
  const options = { documents, clock, counters }
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    serverFactory: listener => createApiServer(fastPath(listener, options), counters, limits),
    clientErrorHandler: (error, socket) => refuseClient(error, socket, counters),
    frameworkErrors: (error, request, reply) => {
      sendError(reply, error.code === 'FST_ERR_BAD_URL' ? 'bad_url' : 'internal', request.url)
    },
    // A draining replica still answers: its connected clients have nowhere else to go.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/' }) => pathOf(url),
    // A long symbol is a malformed symbol; the header limit bounds it.
    routerOptions: { maxParamLength: 8_192, querystringParser: onlyDays },
    ajv: { customOptions: { coerceTypes: false, allErrors: false } },
  })

  function sendError(reply: FastifyReply, code: ErrorCode, got?: unknown) {
    return sendResponse(reply, 'other', counters, errorResponse(code, got))
  }

  app.addHook('onRequest', async ({ method, url, is404 }, reply) => {
    if (method === 'OPTIONS') {
      return sendResponse(reply, 'other', counters, {
        status: 204,
        headers: OPTIONS_HEADERS,
        body: undefined,
      })
    }
    if (!is404) return
    const path = url.split('?', 1)[0] ?? ''
    const isWrongMethod = method !== 'GET' && method !== 'HEAD' && ROUTE_PATH.test(path)
    // A body is not read, so the connection can't be used again.
    if (method !== 'GET' && method !== 'HEAD') reply.header('connection', 'close')
    return isWrongMethod
      ? sendError(reply, 'method_not_allowed', method)
      : sendError(reply, 'no_such_route', path)
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const { validationContext, params, query } = { validationContext: error.validationContext, ...request }
    if (validationContext === 'params')
      return sendError(reply, 'invalid_symbol', (params as { symbol?: string }).symbol)
    if (validationContext === 'querystring')
      return sendError(reply, 'invalid_days', (query as { days?: unknown }).days)
    log.error({ err: error }, 'request failed')
    return sendError(reply, 'internal')
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
  const values = new URLSearchParams(query).getAll('days')
  if (values.length === 0) return {}
  const [text = ''] = values
  if (values.length > 1) return { days: values }
  return { days: /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text }
}
