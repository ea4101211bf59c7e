import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from './binance-rest.ts'
import { answerFaultRequest, isFaultPath } from './fault-requests.ts'
import type { RestAnswer, RestHandler } from './rest-answer.ts'
import { faultyText } from './rest-faults.ts'
import type { Exchange } from './types.ts'
import { createUpbitRest } from './upbit-rest.ts'
import type { World } from './world.ts'

const NOT_FOUND: RestAnswer = { status: 404, body: { error: 'no such path' } }
const ONLY_GET: RestAnswer = { status: 405, body: { error: 'only GET is answered' } }

/** Answers REST of both exchanges, and the fault switches. */
export function createRequestListener(world: World): RequestListener {
  const handlers: Record<Exchange, RestHandler> = {
    upbit: createUpbitRest(world),
    binance: createBinanceRest(world),
  }
  return (request, response) => {
    const url = URL.canParse(request.url ?? '', 'http://simulator')
      ? new URL(request.url ?? '', 'http://simulator')
      : undefined
    const path = url?.pathname ?? ''
    const exchange = exchangeOf(path)
    if (isFaultPath(path)) answerFault(world, request, response, path)
    else if (!url || !exchange) write(response, path === '/' ? welcome(world) : NOT_FOUND)
    else if (request.method !== 'GET') write(response, ONLY_GET)
    else answerExchange(world, exchange, handlers[exchange], url, request, response)
  }
}

function answerExchange(
  world: World,
  exchange: Exchange,
  handler: RestHandler,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const refused = world.faults.find('refuse', { exchange })
  if (refused && refused.fault.on !== 'ws') {
    world.faults.spend(refused)
    const { status } = refused.fault
    if (status !== 'hang') write(response, { status, body: { error: 'refused' }, headers: headersOf(status) })
    return
  }
  const caller = request.socket.remoteAddress ?? ''
  const answer = handler(url, caller, { origin: request.headers.origin }) ?? NOT_FOUND
  const { text, delayMs } = faultyText(world, exchange, url.pathname, answer)
  if (delayMs === 0) {
    writeText(response, answer, text)
    return
  }
  const stop = world.clock.every(delayMs, () => {
    stop()
    writeText(response, answer, text)
  })
  response.on('close', stop)
}

function answerFault(world: World, request: IncomingMessage, response: ServerResponse, path: string): void {
  answerFaultRequest(world, request, path).then(
    answer => write(response, answer),
    // The client went away while it was sending: there is nobody left to answer.
    () => response.destroy(),
  )
}

function exchangeOf(path: string): Exchange | undefined {
  if (path.startsWith('/v1/')) return 'upbit'
  return path.startsWith('/api/v3/') ? 'binance' : undefined
}

function welcome(world: World): RestAnswer {
  const upbit = ['/websocket/v1', '/v1/market/all', '/v1/ticker', '/v1/candles/minutes/1']
  const binance = ['/stream', '/ws', '/api/v3/exchangeInfo', '/api/v3/ticker/price', '/api/v3/klines']
  const count = world.markets.all('upbit').length + world.markets.all('binance').length
  return { status: 200, body: { simulated: true, markets: count, upbit, binance, faults: '/faults' } }
}

function headersOf(status: number): Record<string, string> {
  if (status === 429 || status === 418) return { 'retry-after': '1' }
  return status < 400 ? { location: 'https://example.invalid/' } : {}
}

function write(response: ServerResponse, answer: RestAnswer): void {
  writeText(response, answer, JSON.stringify(answer.body))
}

function writeText(response: ServerResponse, { status, headers }: RestAnswer, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
  response.end(text)
}
