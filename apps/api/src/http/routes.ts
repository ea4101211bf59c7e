import type { Clock } from '@kimchi/core'
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { daysSchema, symbolSchema } from '../contract/schemas.ts'
import type { Document } from '../documents/document.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import type { Route } from './request-counters.ts'
import { codeFor, respond, send } from './response.ts'

const LIVE_PATH = '/api/v1/kimchi-premium'
const DAILY_PATH = `${LIVE_PATH}/:symbol/daily`

const SYMBOL = new RegExp(symbolSchema.pattern)

/** Which of the routes a request is counted for. */
export function routeOf({ routeOptions: { url } }: FastifyRequest): Route {
  return url === LIVE_PATH ? 'live' : url === DAILY_PATH ? 'daily' : 'other'
}

/** Adds the live route (the latest premium of every tracked coin) and the daily route (one coin's days). */
export function addRoutes(app: FastifyInstance, documents: Documents, clock: Clock): void {
  const findLive = () => documents.live()
  app.route({ url: LIVE_PATH, ...answering(clock, findLive, () => documents.load()) })
  const findDaily = (request: FastifyRequest) => {
    const { days = daysSchema.default } = request.query as { days?: unknown }
    const symbol = symbolOf(request)
    return SYMBOL.test(symbol) && isDays(days) ? documents.history(symbol, days) : undefined
  }
  app.route({
    url: DAILY_PATH,
    schema: {
      params: { type: 'object', properties: { symbol: symbolSchema }, required: ['symbol'] },
      querystring: { type: 'object', properties: { days: daysSchema } },
    },
    ...answering(clock, findDaily, request => documents.load(symbolOf(request))),
  })
}

/**
 * Sends a document that is in memory from the `onRequest` hook: validation, CORS and reply would only add what
 * is known already. Figures: docs/benchmarks.md.
 * @param find the document in memory; null when the coin is not tracked, undefined when that isn't known yet
 * @param load waits, a second at most, for a document that is not in memory
 */
function answering(
  clock: Clock,
  find: (request: FastifyRequest) => Document | null | undefined,
  load: (request: FastifyRequest) => Promise<void>,
) {
  return {
    method: ['GET', 'HEAD'],
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
      const document = find(request)
      const response = document && respond(document, request.raw, clock.now())
      if (response) send(reply, response)
      else done()
    },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      if (find(request) === undefined) await load(request)
      const document = find(request)
      if (document === null) return send(reply, errorResponse('unknown_symbol', symbolOf(request)))
      if (document !== undefined) await codeFor(document, request.raw)
      const response = document && respond(document, request.raw, clock.now())
      return send(reply, response ?? errorResponse('not_ready'))
    },
  }
}

function symbolOf({ params }: FastifyRequest): string {
  return (params as { symbol: string }).symbol.toUpperCase()
}

function isDays(days: unknown): days is number {
  return typeof days === 'number' && days >= daysSchema.minimum && days <= daysSchema.maximum
}
