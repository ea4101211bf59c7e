import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from '../binance/rest.ts'
import { respondToFaultRequest } from '../faults/fault-routes.ts'
import { createRefusals } from '../faults/refusals.ts'
import { faultyText } from '../faults/rest-faults.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { Exchange } from '../market/types.ts'
import { createUpbitRest } from '../upbit/rest.ts'
import type { RestResponse } from './rest-response.ts'

const BASE = 'http://simulator'

/** Responds to REST requests of both exchanges, and to those about faults. */
export function createRequestListener(exchanges: SimulatedExchanges): RequestListener {
  const respond = createExchangeResponder(exchanges)
  return (request, response) => {
    const url = URL.canParse(request.url ?? '', BASE) ? new URL(request.url ?? '', BASE) : new URL(BASE)
    const { pathname } = url
    const exchange = exchangeOf(pathname)
    if (/^\/faults(\/|$)/.test(pathname)) {
      respondToFaultRequest(exchanges, request, pathname).then(
        found => write(response, found),
        // The client went away while it was sending: there is nobody left to respond to.
        () => response.destroy(),
      )
    } else if (!exchange) {
      const status = pathname === '/' ? 200 : 404
      write(response, { status, body: { simulated: true, faults: '/faults' } })
    } else if (request.method !== 'GET')
      write(response, { status: 405, body: { error: 'only GET is allowed' } })
    else respond(exchange, url, request, response)
  }
}

function createExchangeResponder(exchanges: SimulatedExchanges) {
  const { clock, faults, onRequest } = exchanges
  const sides = { upbit: createUpbitRest(exchanges), binance: createBinanceRest(exchanges) }
  const refusalOf = createRefusals(faults)
  return (exchange: Exchange, url: URL, request: IncomingMessage, response: ServerResponse): void => {
    const { pathname: path, searchParams } = url
    const market = searchParams.get('market') ?? searchParams.get('symbol') ?? undefined
    const refusal = refusalOf(exchange, 'rest', path, market)
    const asked = { exchange, at: clock.now(), path, ...(market === undefined ? {} : { market }) }
    if (refusal === 'hang') {
      onRequest({ ...asked, status: refusal })
      return
    }
    const side = sides[exchange]
    const found = refusal
      ? { ...refusal, body: side.refusalBody(refusal.status) }
      : side.respond(url, request.socket.remoteAddress ?? '')
    onRequest({ ...asked, status: found.status })
    write(response, found, faultyText(faults, exchange, path, found))
  }
}

function exchangeOf(path: string): Exchange | undefined {
  if (path.startsWith('/v1/')) return 'upbit'
  return path.startsWith('/api/v3/') ? 'binance' : undefined
}

function write(
  response: ServerResponse,
  { status, headers, body }: RestResponse,
  text = JSON.stringify(body),
): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
  response.end(text)
}
