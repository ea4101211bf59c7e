import type { RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from '../binance/rest.ts'
import { refusalOf, textOf } from '../faults/responses.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { Exchange } from '../market/types.ts'
import { createUpbitRest } from '../upbit/rest.ts'
import { urlOf } from './client-input.ts'
import type { ExchangeRest, RestResponse } from './exchange-rest.ts'

/** Responds to REST requests of both exchanges. */
export function createRequestListener(answer: Answer): RequestListener {
  return (request, response) => {
    const url = urlOf(request)
    const { pathname } = url
    if (!exchangeOf(pathname)) {
      write(response, { status: pathname === '/' ? 200 : 404, body: { simulated: true } })
    } else if (request.method !== 'GET') {
      write(response, { status: 405, body: { error: 'only GET is allowed' } })
    } else {
      const found = answer(url, request.socket.remoteAddress)
      if (found) write(response, found, found.text)
    }
  }
}

/**
 * What an exchange answers to a GET request, with its text as a fault may have mangled it; undefined when a fault
 * wants no response, and for a path that no exchange has.
 */
export type Answer = (url: URL, caller?: string) => (RestResponse & { readonly text: string }) | undefined

export function createAnswer(exchanges: SimulatedExchanges): Answer {
  const sides = { upbit: createUpbitRest(exchanges), binance: createBinanceRest(exchanges) }
  return (url, caller = '') => {
    const exchange = exchangeOf(url.pathname)
    const found = exchange && respondAs(exchanges, exchange, sides[exchange], url, caller)
    return found && { ...found, text: textOf(exchanges, exchange, url, caller, found) }
  }
}

/** What an exchange responds; undefined when a fault wants no response. */
function respondAs(
  exchanges: SimulatedExchanges,
  exchange: Exchange,
  side: ExchangeRest,
  url: URL,
  caller: string,
): RestResponse | undefined {
  const { pathname: path, searchParams } = url
  const market = searchParams.get('market') ?? searchParams.get('symbol') ?? undefined
  exchanges.onRequest({ exchange, path, market })
  const refusal = refusalOf(exchanges, 'rest', exchange, url, market)
  if (refusal === 'hang') return undefined
  return refusal ? { ...refusal, body: side.refusalBody(refusal.status) } : side.respond(url, caller)
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
