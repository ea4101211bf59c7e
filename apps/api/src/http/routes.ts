import type { Clock } from '@kimchi/core'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  RouteGenericInterface,
} from 'fastify'
import { daysSchema, symbolSchema } from '../contract/schemas.ts'
import type { Document } from '../documents/document.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import { countResponse, type RequestCounters, type Route } from './request-counters.ts'
import { type HttpResponse, respond, sendNow } from './response.ts'

/** What both routes answer from. */
export interface RouteOptions {
  readonly documents: Documents
  readonly clock: Clock
  readonly counters: RequestCounters
}

const LIVE_PATH = '/api/v1/kimchi-premium'
const DAILY_PATH = `${LIVE_PATH}/:symbol/daily`

const SYMBOL = new RegExp(symbolSchema.pattern)

/** Before validation `days` is whatever was sent, a number where it looks like one. */
interface DailyRequest {
  Params: { symbol: string }
  Querystring: { days?: unknown }
}

type Found = Document | null | undefined

/** Adds the live route: the latest premium of every tracked coin. */
export function addLiveRoute(app: FastifyInstance, options: RouteOptions): void {
  const { documents } = options
  app.route({
    method: ['GET', 'HEAD'],
    url: LIVE_PATH,
    onRequest: atHand('live', options, () => documents.live()),
    handler: async (request, reply) => {
      await documents.load()
      const document = documents.live()
      return document === undefined
        ? send(reply, 'live', options, errorResponse('not_ready'))
        : send(reply, 'live', options, respond(document, request.raw, options.clock.now()))
    },
  })
}

/** Adds the daily route: one coin's newest days, ascending. */
export function addDailyRoute(app: FastifyInstance, options: RouteOptions): void {
  const { documents } = options
  const find = ({
    params: { symbol },
    query: { days = daysSchema.default },
  }: FastifyRequest<DailyRequest>) =>
    SYMBOL.test(symbol) && isDays(days) ? documents.history(symbol.toUpperCase(), days) : undefined
  app.route<DailyRequest>({
    method: ['GET', 'HEAD'],
    url: DAILY_PATH,
    schema: {
      params: { type: 'object', properties: { symbol: symbolSchema }, required: ['symbol'] },
      querystring: { type: 'object', properties: { days: daysSchema } },
    },
    onRequest: atHand('daily', options, find),
    handler: async (request, reply) => {
      const symbol = request.params.symbol.toUpperCase()
      if (find(request) === undefined) await documents.load(symbol)
      const document = find(request)
      if (document === undefined) return send(reply, 'daily', options, errorResponse('not_ready'))
      if (document === null) return send(reply, 'daily', options, errorResponse('unknown_symbol', symbol))
      return send(reply, 'daily', options, respond(document, request.raw, options.clock.now()))
    },
  })
}

/**
 * Answers a request whose document is at hand before anything else is done for it: what validation, CORS
 * and reply would make of it is known. Figures: docs/benchmarks.md.
 */
function atHand<R extends RouteGenericInterface>(
  route: Route,
  { counters, clock }: RouteOptions,
  find: (request: FastifyRequest<R>) => Found,
) {
  return (request: FastifyRequest<R>, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const document = find(request)
    if (document === undefined || document === null) {
      done()
      return
    }
    const response = respond(document, request.raw, clock.now())
    reply.hijack()
    sendNow(reply.raw, response)
    countResponse(counters, route, response.status, reply.raw)
  }
}

/** Sends a response through the framework, which adds CORS, and counts it. */
export function send(
  reply: FastifyReply,
  route: Route,
  { counters }: Pick<RouteOptions, 'counters'>,
  { status, headers, body }: HttpResponse,
): FastifyReply {
  countResponse(counters, route, status, reply.raw)
  return reply
    .code(status)
    .headers(headers)
    .send(body.length === 0 ? undefined : Buffer.concat(body))
}

function isDays(days: unknown): days is number {
  return typeof days === 'number' && days >= daysSchema.minimum && days <= daysSchema.maximum
}
