import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBinanceRest } from './binance-rest.ts'
import type { RestAnswer } from './rest-answer.ts'
import { createUpbitRest } from './upbit-rest.ts'
import type { World } from './world.ts'

/** Answers REST of both exchanges. */
export function createRequestListener(world: World): RequestListener {
  const upbit = createUpbitRest(world)
  const binance = createBinanceRest(world)
  return (request, response) => {
    const url = new URL(request.url ?? '/', 'http://simulator')
    const caller = request.socket.remoteAddress ?? ''
    const headers = { origin: request.headers.origin }
    if (request.method !== 'GET') {
      write(response, { status: 405, body: { error: 'only GET' } })
      return
    }
    write(
      response,
      upbit(url, caller, headers) ??
        binance(url, caller, headers) ?? { status: 404, body: { error: 'no such path' } },
    )
  }
}

function write(response: ServerResponse<IncomingMessage>, { status, body, headers }: RestAnswer): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
  response.end(text)
}
