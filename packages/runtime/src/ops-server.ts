import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '@kimchi/core'
import { listenAt } from './listen.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** Why an app is not ready. */
export interface Reason {
  /** A short name that stays the same while the sentence changes, for the label `reason` of `kimchi_ready`. */
  readonly reason: string
  /** One plain sentence, for `/ready`. */
  readonly text: string
}

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
  /** Gets `kimchi_ready` added: what `/ready` says, for alerts. */
  readonly metrics: MetricsRegistry
}

/**
 * Serves `/live` (200 while the process turns its event loop), `/ready` (200, or 503 with the reasons:
 * everything is well, for alerts), `/serving` (200 or 503: may get requests, for load balancers) and `/metrics`
 * (Prometheus text). Meant for a private address, never the public one.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when the port or the address cannot be bound
 */
export async function openOpsServer(options: OpsOptions) {
  addReadyGauge(options)
  const routes = createRoutes(options)
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const route = routes[request.url?.split('?')[0] ?? '']
    if (route === undefined) sendJson(response, 404, { paths: Object.keys(routes) })
    // A broken gauge or check must show up here and not end the app it watches.
    else route(response).catch(thrown => sendJson(response, 500, { error: messageOf(thrown) }))
  })
  await listenAt('OPS_PORT', options, address => once(server.listen(address), 'listening'))
  return {
    /** The port it really listens on. */
    port: (server.address() as AddressInfo).port,
    /** Stops listening and drops all connections. Idempotent. */
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
        // prom-client observes the garbage collection until the process ends, and with it all that metrics read.
        options.metrics.clear()
      }),
  }
}

function addReadyGauge({ metrics, reasons }: OpsOptions): void {
  metrics.add('gauge', {
    name: 'kimchi_ready',
    help: '1 without a reason while /ready is 200, else 0 for each reason.',
    read: () => {
      const names = [...new Set(reasons().map(({ reason }) => reason))]
      return names.length === 0 ? [[{ reason: '' }, 1]] : names.map(reason => [{ reason }, 0] as const)
    },
  })
}

type Route = (response: ServerResponse) => Promise<unknown>

function createRoutes({ reasons, notes, isServing, metrics }: OpsOptions): Readonly<Record<string, Route>> {
  return {
    '/live': async response => sendJson(response, 200, { live: true }),
    '/ready': async response => {
      const found = reasons().map(({ text }) => text)
      const ready = found.length === 0
      sendJson(response, ready ? 200 : 503, { ready, reasons: found, ...(notes && { notes: notes() }) })
    },
    ...(isServing && {
      '/serving': async response => {
        const serving = isServing()
        sendJson(response, serving ? 200 : 503, { serving })
      },
    }),
    '/metrics': async response => {
      const text = await metrics.metrics()
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
    },
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}
