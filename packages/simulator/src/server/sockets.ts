import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { createBinanceStream } from '../binance/stream.ts'
import { type Refusal, refusalOf } from '../faults/responses.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'
import { createUpbitStream } from '../upbit/stream.ts'
import { urlOf } from './client-input.ts'
import { type Client, Connection, type ExchangeStream, pumpStream } from './connection.ts'
import { createWindowCounter } from './window-counter.ts'

/** Accepts and feeds WebSocket connections. */
export function createSockets(exchanges: SimulatedExchanges) {
  const { clock, limitFactor } = exchanges
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  const clients = { upbit: new Set<Client>(), binance: new Set<Client>() }
  const sockets = new Set<Duplex>()
  // By address: Upbit allows 5 handshakes a second, Binance 300 in 5 minutes.
  const allowed = { upbit: 5 * limitFactor, binance: 300 * limitFactor }
  const handshakes = { upbit: createWindowCounter(1_000), binance: createWindowCounter(300_000) }
  let pumpedTo = clock.now()
  let accepted = 0

  const pump = (): EpochMs => {
    const to = clock.now()
    const from = Math.min(pumpedTo, to)
    pumpedTo = to
    // What is due leaves in one piece, which costs clients much less than frame by frame.
    for (const socket of sockets) socket.cork()
    pumpStream(streams.upbit, clients.upbit, from, to)
    pumpStream(streams.binance, clients.binance, from, to)
    for (const socket of sockets) socket.uncork()
    for (const client of [...clients.upbit, ...clients.binance]) {
      client.obey(to)
      client.connection.obey(to)
    }
    return to
  }
  const streams: Readonly<Record<Exchange, ExchangeStream>> = {
    upbit: createUpbitStream(exchanges),
    binance: createBinanceStream(exchanges),
  }
  const accept = (socket: WebSocket, exchange: Exchange, url: URL): void => {
    const now = pump()
    const connection = new Connection(exchanges, exchange, ++accepted, socket)
    const client = streams[exchange].open(connection, url)
    clients[exchange].add(client)
    socket.on('close', () => clients[exchange].delete(client))
    // A client that breaks the protocol is closed by the library; its 'close' follows.
    socket.on('error', () => {})
    socket.on('message', message => client.message(message.toString()))
    socket.on('ping', () => client.pinged?.())
    connection.obey(now)
  }
  const refusalOfHandshake = (exchange: Exchange, url: URL, caller = ''): Refusal | undefined => {
    const count = handshakes[exchange](caller, clock.now())
    if (count > allowed[exchange]) return { status: 429, headers: {} }
    return refusalOf(exchanges, 'ws', exchange, url)
  }
  return {
    /** Listener for node's `upgrade` event. */
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      const url = urlOf(request)
      const exchange = exchangeOf(url)
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      if (!exchange) return refuse(socket, { status: 404, headers: {} })
      const refusal = refusalOfHandshake(exchange, url, request.socket.remoteAddress)
      if (!refusal) server.handleUpgrade(request, socket, head, ws => accept(ws, exchange, url))
      else if (refusal !== 'hang') refuse(socket, refusal)
    },
    /** Takes over an open connection from `caller`; returns the refusal of one that is not accepted. */
    connect(socket: WebSocket, url: URL, caller: string): Refusal | undefined {
      const exchange = exchangeOf(url)
      if (!exchange) return { status: 404, headers: {} }
      const refusal = refusalOfHandshake(exchange, url, caller)
      if (!refusal) accept(socket, exchange, url)
      return refusal
    },
    /** Sends everything that is due until now; returns that instant. */
    pump,
    /** The frames of a market or stream that are due in [from, to), whoever listens. Faults of frames are left out. */
    due: (exchange: Exchange, ...asked: Parameters<ExchangeStream['due']>) => streams[exchange].due(...asked),
    count: (exchange: Exchange) => clients[exchange].size,
    /** Cuts every connection, and every handshake that was left hanging. */
    closeAll() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function exchangeOf({ pathname }: URL): Exchange | undefined {
  if (pathname === '/websocket/v1') return 'upbit'
  return /^\/(ws|stream)(\/|$)/.test(pathname) ? 'binance' : undefined
}

function refuse(socket: Duplex, { status, headers }: Exclude<Refusal, 'hang'>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}
