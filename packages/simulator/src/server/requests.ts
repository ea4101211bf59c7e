import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from '../binance/rest.ts'
import type { Faults } from '../faults/board.ts'
import { isFaultPath, respondToFaultRequest } from '../faults/fault-routes.ts'
import { faultyText } from '../faults/rest-faults.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { Exchange } from '../market/types.ts'
import { createUpbitRest } from '../upbit/rest.ts'
import type { RestHandler, RestResponse } from './rest-response.ts'

/** One REST request as it reached an exchange. */
export interface RestRequest {
  readonly exchange: Exchange
  readonly path: string
  /** The one market it names, if it names one. */
  readonly market?: string
}

const BASE = 'http://simulator'
const NOT_FOUND: RestResponse = { status: 404, body: { error: 'no such path' } }
const ONLY_GET: RestResponse = { status: 405, body: { error: 'only GET is allowed' } }

/** Responds to REST requests of both exchanges, and to those about faults. @param onRequest called for every request to an exchange */
export function createRequestListener(
  exchanges: SimulatedExchanges,
  faults: Faults,
  onRequest: (request: RestRequest) => void,
): RequestListener {
  const handlers: Record<Exchange, RestHandler> = {
    upbit: createUpbitRest(exchanges),
    binance: createBinanceRest(exchanges),
  }
  return (request, response) => {
    const url = URL.canParse(request.url ?? '', BASE) ? new URL(request.url ?? '', BASE) : undefined
    const path = url?.pathname ?? ''
    const exchange = exchangeOf(path)
    if (isFaultPath(path)) respondAboutFaults(exchanges, faults, request, response, path)
    else if (!url || !exchange) write(response, path === '/' ? welcome(exchanges) : NOT_FOUND)
    else if (request.method !== 'GET') write(response, ONLY_GET)
    else {
      const market = url.searchParams.get('market') ?? url.searchParams.get('symbol')
      onRequest({ exchange, path, ...(market === null ? {} : { market }) })
      respondAsExchange(exchanges, exchange, handlers[exchange], url, request, response)
    }
  }
}

function respondAsExchange(
  exchanges: SimulatedExchanges,
  exchange: Exchange,
  handler: RestHandler,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const refusal = exchanges.faults.find('refuse', { exchange })
  if (refusal && refusal.fault.on !== 'ws') {
    exchanges.faults.spend(refusal)
    const { status } = refusal.fault
    if (status !== 'hang') write(response, { status, body: { error: 'refused' }, headers: headersOf(status) })
    return
  }
  const found = handler(url, request.socket.remoteAddress ?? '')
  const { text, delayMs } = faultyText(exchanges, exchange, url.pathname, found)
  if (delayMs === 0) {
    writeText(response, found, text)
    return
  }
  const stop = exchanges.clock.every(delayMs, () => {
    stop()
    writeText(response, found, text)
  })
  response.on('close', stop)
}

function respondAboutFaults(
  { markets }: SimulatedExchanges,
  faults: Faults,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): void {
  respondToFaultRequest(faults, markets, request, path).then(
    found => write(response, found),
    // The client went away while it was sending: there is nobody left to respond to.
    () => response.destroy(),
  )
}

function exchangeOf(path: string): Exchange | undefined {
  if (path.startsWith('/v1/')) return 'upbit'
  return path.startsWith('/api/v3/') ? 'binance' : undefined
}

function welcome({ markets }: SimulatedExchanges): RestResponse {
  const count = markets.all('upbit').length + markets.all('binance').length
  return { status: 200, body: { simulated: true, markets: count, faults: '/faults' } }
}

function headersOf(status: number): Record<string, string> {
  if (status === 429 || status === 418) return { 'retry-after': '1' }
  return status < 400 ? { location: 'https://example.invalid/' } : {}
}

function write(response: ServerResponse, found: RestResponse): void {
  writeText(response, found, JSON.stringify(found.body))
}

function writeText(response: ServerResponse, { status, headers }: RestResponse, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
  response.end(text)
}
