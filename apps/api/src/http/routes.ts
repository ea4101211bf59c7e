import type { IncomingMessage } from 'node:http'
import type { Clock } from '@kimchi/core'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ErrorCode } from '../contract/errors.ts'
import { daysSchema, symbolSchema } from '../contract/schemas.ts'
import type { Document } from '../documents/document.ts'
import type { Documents } from '../documents/documents.ts'
import { errorResponse } from './error-response.ts'
import { headerOf } from './header.ts'
import { countResponse, type RequestCounters, type Route } from './request-counters.ts'
import { type HttpResponse, maxAgeAt, type PreparedResponse, respond } from './response.ts'

/** Path of the live list. */
export const LIVE_PATH = '/api/v1/kimchi-premium'

const DAILY_PATH = `${LIVE_PATH}/:symbol/daily`

/** What both routes answer from. */
export interface RouteOptions {
  readonly documents: Documents
  readonly clock: Clock
  readonly counters: RequestCounters
}

interface DailyRequest {
  Params: { symbol: string }
  Querystring: { days: number }
}

/** Adds the live route: the latest premium of every tracked coin. */
export function addLiveRoute(app: FastifyInstance, options: RouteOptions): void {
  const { documents, counters } = options
  app.route({
    method: ['GET', 'HEAD'],
    url: LIVE_PATH,
    handler: async (request, reply) => {
      if (documents.live() === undefined) await documents.firstBoard()
      const document = documents.live()
      const response =
        document === undefined ? errorResponse('not_ready') : documentResponse(document, request.raw, options)
      return sendResponse(reply, 'live', counters, response)
    },
  })
}

/** Adds the daily route: one coin's newest days, ascending. */
export function addDailyRoute(app: FastifyInstance, options: RouteOptions): void {
  const { documents, counters } = options
  app.route<DailyRequest>({
    method: ['GET', 'HEAD'],
    url: DAILY_PATH,
    schema: {
      params: { type: 'object', properties: { symbol: symbolSchema }, required: ['symbol'] },
      querystring: { type: 'object', properties: { days: daysSchema } },
    },
    handler: async (request, reply) => {
      const symbol = request.params.symbol.toUpperCase()
      const found = await findHistory(documents, symbol, request.query.days)
      const response =
        typeof found === 'string'
          ? errorResponse(found, symbol)
          : documentResponse(found, request.raw, options)
      return sendResponse(reply, 'daily', counters, response)
    },
  })
}

async function findHistory(
  documents: Documents,
  symbol: string,
  days: number,
): Promise<Document | ErrorCode> {
  if (documents.coin(symbol) === undefined) await documents.firstBoard()
  const coin = documents.coin(symbol)
  if (coin === undefined) return 'not_ready'
  if (coin === null) return documents.isEmpty() ? 'not_ready' : 'unknown_symbol'
  if (documents.history(coin, days) === undefined) await documents.loadHistory(coin)
  return documents.history(coin, days) ?? 'not_ready'
}

/** The response of a document to this request now. */
export function documentResponse(
  document: Document,
  { method = 'GET', rawHeaders }: IncomingMessage,
  { documents, clock }: Pick<RouteOptions, 'documents' | 'clock'>,
): PreparedResponse {
  const conditions = {
    method,
    ifNoneMatch: headerOf(rawHeaders, 'if-none-match'),
    acceptEncoding: headerOf(rawHeaders, 'accept-encoding'),
  }
  return respond(document, conditions, maxAgeAt(clock.now(), documents.newestMinute() ?? 0))
}

/** Sends a response as it is, and counts it. */
export function sendResponse(
  reply: FastifyReply,
  route: Route,
  counters: RequestCounters,
  response: HttpResponse,
): FastifyReply {
  countResponse(counters, route, response.status)
  return reply.code(response.status).headers(response.headers).send(response.body)
}
