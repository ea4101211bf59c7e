import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '@kimchi/core'
import type { MetricsRegistry } from './metrics-registry.ts'
import type { Reason } from './readiness.ts'

/** What an ops server shows of its app, and where. */
export interface OpsOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Why the app is not ready; empty when it is. */
  readonly reasons: () => readonly Reason[]
  /** What else an operator should know, without being a reason; shown on `/ready`. @default nothing */
  readonly notes?: () => readonly string[]
  /** Whether a load balancer should send requests here. @default not said: no `/serving` */
  readonly isServing?: () => boolean
  readonly metrics: Pick<MetricsRegistry, 'contentType' | 'text'>
}

/**
 * Serves `/live` (200 while the process turns its event loop), `/ready` (200, or 503 with the reasons:
 * everything is well, for alerts), `/serving` (200 or 503: may get requests, for load balancers) and `/metrics`
 * (Prometheus text). Meant for a private address, never the public one.
 * @throws the listen error (`EADDRINUSE`, …) when the port cannot be bound
 */
export async function openOpsServer(options: OpsOptions) {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    // A broken gauge or check must show up here and not end the app it watches.
    answer(request, response, options).catch(thrown => sendJson(response, 500, { error: messageOf(thrown) }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Without a host Node listens on every address, also where there is no IPv6.
    server.listen({ port: options.port, host: options.host === '::' ? '' : options.host }, resolve)
  })
  return {
    /** The port it really listens on. */
    port: (server.address() as AddressInfo).port,
    /** Stops listening and drops all connections. Idempotent. */
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { reasons, notes, isServing, metrics }: OpsOptions,
): Promise<unknown> {
  const path = request.url?.split('?')[0]
  if (path === '/live') return sendJson(response, 200, { live: true })
  if (path === '/ready') {
    const found = reasons().map(({ text }) => text)
    const ready = found.length === 0
    const body = { ready, reasons: found, ...(notes && { notes: notes() }) }
    return sendJson(response, ready ? 200 : 503, body)
  }
  if (path === '/serving' && isServing !== undefined) {
    const serving = isServing()
    return sendJson(response, serving ? 200 : 503, { serving })
  }
  if (path === '/metrics') {
    const text = await metrics.text()
    return response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
  }
  const serving = isServing === undefined ? [] : ['/serving']
  return sendJson(response, 404, { paths: ['/live', '/ready', ...serving, '/metrics'] })
}

function sendJson(response: ServerResponse, status: number, body: unknown): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}
