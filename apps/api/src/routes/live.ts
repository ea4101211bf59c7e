import type { FastifyInstance } from 'fastify'
import { errorAnswer } from '../errors.ts'
import { documentAnswer, type RouteOptions, sendAnswer } from './send.ts'

/** Path of the live list. */
export const LIVE_PATH = '/api/v1/kimchi-premium'

/** Adds the live route: the latest premium of every tracked coin. @see service-spec §4.1 */
export function addLiveRoute(app: FastifyInstance, { documents, clock, traffic }: RouteOptions): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: LIVE_PATH,
    handler: async (request, reply) => {
      if (documents.live() === undefined) await documents.firstBoard()
      const document = documents.live()
      const answer =
        document === undefined
          ? errorAnswer('not_ready')
          : documentAnswer(document, request.raw, { documents, clock })
      return sendAnswer(reply, 'live', traffic, answer)
    },
  })
}
