import type { FastifyInstance } from 'fastify'
import type { Document } from '../document.ts'
import type { Documents } from '../documents.ts'
import { type ErrorCode, errorAnswer } from '../errors.ts'
import { daysSchema, symbolSchema } from '../schemas.ts'
import { documentAnswer, type RouteOptions, sendAnswer } from './send.ts'

/** Path of a coin's history. */
export const DAILY_PATH = '/api/v1/kimchi-premium/:symbol/daily'

interface DailyRequest {
  Params: { symbol: string }
  Querystring: { days: number }
}

/** Adds the daily route: one coin's newest days, ascending. @see service-spec §4.2, design §3 */
export function addDailyRoute(app: FastifyInstance, { documents, clock, traffic }: RouteOptions): void {
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
      const answer =
        typeof found === 'string'
          ? errorAnswer(found, symbol)
          : documentAnswer(found, request.raw, { documents, clock })
      return sendAnswer(reply, 'daily', traffic, answer)
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
