import type { Clock } from '@kimchi/core'
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { DAYS, SYMBOL } from '../contract/parameters.ts'
import type { Document } from '../documents/document.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import { compressFor, type HttpResponse, respond } from './response.ts'
import type { Route, Sender } from './sender.ts'

const LIVE_PATH = '/api/v1/kimchi-premium'
const DAILY_PATH = `${LIVE_PATH}/:symbol/daily`

/** The paths of both routes, to tell a wrong method (405) from a wrong path (404). Proxies may send the whole URL. */
const ROUTE_PATH = /^(https?:\/\/[^/]+)?\/api\/v1\/kimchi-premium(\/[^/]+\/daily)?$/

/** What a Host header may say; two of them come joined by a comma. @see RFC 9112 §3.2 */
const HOST = /^[\w.~!$&'()*+;=%:[\]-]*$/

export interface RouteOptions {
  readonly documents: Documents
  readonly sender: Sender
  readonly clock: Clock
}

/** Adds the live route (the latest premium of every tracked coin) and the daily route (one coin's days). */
export function addRoutes(app: FastifyInstance, options: RouteOptions): void {
  const { documents, sender } = options
  // It runs before any route's own hook, and for requests without a route too.
  app.addHook('onRequest', (request, reply, done) => {
    // Node drops what came in the same read after a request with an Upgrade header: it would get no answer.
    if (request.raw.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false
    const response = responseWithoutRoute(request, reply)
    if (response === undefined) done()
    else sender.send(reply, response)
  })
  app.route({ url: LIVE_PATH, ...routeHandlers('live', () => documents.live(), options) })
  const findHistory: Find = ({ query }, symbol) => {
    if (!SYMBOL.test(symbol)) return errorResponse('invalid_symbol', symbol)
    const days = daysOf((query as { query: string }).query)
    if (!isDays(days)) return errorResponse('invalid_days', days)
    const document = documents.history(symbol.toUpperCase(), Number(days))
    return document === null ? errorResponse('unknown_symbol', symbol.toUpperCase()) : document
  }
  app.route({ url: DAILY_PATH, ...routeHandlers('daily', findHistory, options) })
}

/** The document in memory, or an error; undefined when neither is known yet. @param symbol as the path has it */
type Find = (request: FastifyRequest, symbol: string) => Document | HttpResponse | undefined

/**
 * Sends what is in memory from the `onRequest` hook. Fastify's later steps would only cost time here
 * (docs/benchmarks.md).
 */
function routeHandlers(route: Route, find: Find, { documents, sender, clock }: RouteOptions) {
  const symbolOf = ({ params }: FastifyRequest) => (params as { symbol?: string }).symbol ?? ''
  const responseTo = ({ raw }: FastifyRequest, found: ReturnType<Find>) =>
    found && ('status' in found ? found : respond(found, raw.headers, clock.now()))
  return {
    method: 'GET',
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
      const askedAt = performance.now()
      const response = responseTo(request, find(request, symbolOf(request)))
      if (response) sender.send(reply, response, route, askedAt)
      else done()
    },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const askedAt = performance.now()
      const symbol = symbolOf(request)
      if (find(request, symbol) === undefined) await documents.load(symbol.toUpperCase())
      const found = find(request, symbol)
      if (found !== undefined && !('status' in found)) await compressFor(found, request.raw.headers)
      // Answer with the document that was compressed, even if a newer one exists by now.
      const response = responseTo(request, found)
      const missing = documents.live() === undefined ? 'not_ready' : 'history_not_ready'
      return sender.send(reply, response ?? errorResponse(missing), route, askedAt)
    },
  }
}

/** The text of `days`, which is no number when it is given more than once. */
function daysOf(query: string): string {
  const values = query === '' ? [] : new URLSearchParams(query).getAll('days')
  return values.length === 0 ? String(DAYS.default) : values.join()
}

function isDays(text: string): boolean {
  return /^[1-9]\d*$/.test(text) && Number(text) <= DAYS.maximum
}

/** The response to a request without a route or a usable Host; undefined for any other, a preflight too. */
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
