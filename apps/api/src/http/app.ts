import { fastifyCors } from '@fastify/cors'
import { type Context, isWorthALine } from '@kimchi/core'
import { type FastifyError, type FastifyInstance, fastify } from 'fastify'
import { ALLOWED_METHODS } from '../contract/errors.ts'
import type { Documents } from '../documents/documents.ts'
import { Connections, LIMITS } from './connections.ts'
import { errorResponse } from './error-response.ts'
import { CORS_HEADERS } from './response.ts'
import { addRoutes } from './routes.ts'
import { Sender } from './sender.ts'

export interface AppOptions extends Pick<Context, 'clock' | 'log'> {
  readonly documents: Documents
  /** @default LIMITS */
  readonly limits?: Partial<typeof LIMITS>
}

/** The public API: two routes, and JSON with CORS headers for everything else. Does not listen. */
export function createApp({ documents, clock, log, limits: changed }: AppOptions) {
  const limits = { ...LIMITS, ...changed }
  const connections = new Connections(limits)
  const sender = new Sender(connections)
  const app: FastifyInstance = fastify({
    serverFactory: handle => connections.createServer(handle),
    clientErrorHandler: (error, socket) => sender.refuse(error, socket),
    // The router complains about a path that can't be decoded, before any hook.
    frameworkErrors: (_error, request, reply) => sender.send(reply, errorResponse('bad_url', request.url)),
    // A draining replica still answers the clients that are connected to it.
    return503OnClosing: false,
    // An overlong symbol gets `invalid_symbol` (400), not 404; the header limit bounds its length. A query of 8 kB,
    // parsed, would take 100 kB for as long as its request waits.
    routerOptions: { maxParamLength: limits.server.maxHeaderSize, querystringParser: query => ({ query }) },
  })
  let failures = 0
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    failures += 1
    if (isWorthALine(failures)) log.error({ err: error, failures }, 'request failed')
    return sender.send(reply, errorResponse('internal'))
  })
  app.addHook('preClose', async () => connections.closeAll())
  answerPreflights(app, sender)
  addRoutes(app, { documents, sender, clock })
  return { app, durations: sender.durations }
}

/** CORS runs in preParsing, after the onRequest hooks that answer all other requests. */
function answerPreflights(app: FastifyInstance, sender: Sender): void {
  app.register(fastifyCors, {
    hook: 'preParsing',
    methods: ALLOWED_METHODS,
    allowedHeaders: 'If-None-Match, *',
    exposedHeaders: CORS_HEADERS['access-control-expose-headers'],
    maxAge: 86_400,
    strictPreflight: false,
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    sender.count(reply.statusCode)
    // A 204 has no length. @see RFC 9110 §8.6
    reply.header('allow', ALLOWED_METHODS).removeHeader('content-length')
    done()
  })
}
