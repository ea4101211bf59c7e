import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from '../binance/rest.ts'
import type { Faults } from '../faults/board.ts'
import { isFaultPath, respondToFaultRequest } from '../faults/fault-routes.ts'
import { createRefusals } from '../faults/refusals.ts'
import { delayOf, faultyText } from '../faults/rest-faults.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'
import { createUpbitRest } from '../upbit/rest.ts'
import type { RestResponse, RestSide } from './rest-response.ts'

/** One REST request to an exchange, and the status of its response. */
export interface RestRequest {
  readonly exchange: Exchange
  readonly at: EpochMs
  readonly path: string
  /** The one market it names, if it names one. */
  readonly market?: string
  readonly status: number | 'hang'
}

const BASE = 'http://simulator'

/**
 * Responds to REST requests of both exchanges, and to those about faults.
 * @param onRequest called for every request to an exchange
 */
export function createRequestListener(
  exchanges: SimulatedExchanges,
  faults: Faults,
  onRequest: (request: RestRequest) => void,
): RequestListener {
  const { markets } = exchanges
  const respond = createExchangeResponder(exchanges, onRequest)
  const isMarket = (code: string) =>
    markets.get('upbit', code) !== undefined || markets.get('binance', code) !== undefined
  return (request, response) => {
    const url = URL.canParse(request.url ?? '', BASE) ? new URL(request.url ?? '', BASE) : new URL(BASE)
    const exchange = exchangeOf(url.pathname)
    if (isFaultPath(url.pathname)) {
      respondToFaultRequest(faults, isMarket, request, url.pathname).then(
        found => write(response, found),
        // The client went away while it was sending: there is nobody left to respond to.
        () => response.destroy(),
      )
    } else if (!exchange) {
      const isRoot = url.pathname === '/'
      write(response, { status: isRoot ? 200 : 404, body: { simulated: true, faults: '/faults' } })
    } else if (request.method !== 'GET')
      write(response, { status: 405, body: { error: 'only GET is allowed' } })
    else respond(exchange, url, request, response)
  }
}

function createExchangeResponder(exchanges: SimulatedExchanges, onRequest: (request: RestRequest) => void) {
  const { clock, faults } = exchanges
  const sides: Record<Exchange, RestSide> = {
    upbit: createUpbitRest(exchanges),
    binance: createBinanceRest(exchanges),
  }
  const refusalOf = createRefusals(faults)
  return (exchange: Exchange, url: URL, request: IncomingMessage, response: ServerResponse): void => {
    const path = url.pathname
    const market = url.searchParams.get('market') ?? url.searchParams.get('symbol') ?? undefined
    const refusal = refusalOf(exchange, 'rest', path, market)
    const report = (status: RestRequest['status']): void =>
      onRequest({ exchange, at: clock.now(), path, ...(market === undefined ? {} : { market }), status })
    if (refusal === 'hang') {
      report(refusal)
      return
    }
    const side = sides[exchange]
    const found = refusal
      ? { ...refusal, body: side.refusalBody(refusal.status) }
      : side.respond(url, request.socket.remoteAddress ?? '')
    report(found.status)
    const text = faultyText(faults, exchange, path, found)
    const delayMs = delayOf(faults, exchange, path)
    if (delayMs === 0) {
      writeText(response, found, text)
      return
    }
    const stop = clock.every(delayMs, () => {
      stop()
      writeText(response, found, text)
    })
    response.on('close', stop)
  }
}

function exchangeOf(path: string): Exchange | undefined {
  if (path.startsWith('/v1/')) return 'upbit'
  return path.startsWith('/api/v3/') ? 'binance' : undefined
}

function write(response: ServerResponse, found: RestResponse): void {
  writeText(response, found, JSON.stringify(found.body))
}

function writeText(response: ServerResponse, { status, headers }: RestResponse, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
  response.end(text)
}
