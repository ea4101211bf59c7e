import type { IncomingMessage } from 'node:http'
import type { Clock } from '@kimchi/core'
import type { FastifyReply } from 'fastify'
import { type Answer, answerDocument, type DocumentAnswer, maxAgeAt } from '../answer.ts'
import type { Document } from '../document.ts'
import type { Documents } from '../documents.ts'
import { headerOf } from '../header.ts'
import { countAnswer, type Route, type Traffic } from '../traffic.ts'

/** What both routes answer from. */
export interface RouteOptions {
  readonly documents: Documents
  readonly clock: Clock
  readonly traffic: Traffic
}

/** What a document answers to this request now. */
export function documentAnswer(
  document: Document,
  { method = 'GET', rawHeaders }: IncomingMessage,
  { documents, clock }: Pick<RouteOptions, 'documents' | 'clock'>,
): DocumentAnswer {
  const conditions = {
    method,
    ifNoneMatch: headerOf(rawHeaders, 'if-none-match'),
    acceptEncoding: headerOf(rawHeaders, 'accept-encoding'),
  }
  return answerDocument(document, conditions, maxAgeAt(clock.now(), documents.newestMinute() ?? 0))
}

/** Sends an answer as it is, and counts it. */
export function sendAnswer(
  reply: FastifyReply,
  route: Route,
  traffic: Traffic,
  answer: Answer,
): FastifyReply {
  countAnswer(traffic, route, answer.status)
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}
