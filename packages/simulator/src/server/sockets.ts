import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { createBinanceStream } from '../binance/stream.ts'
import { createRefusals, type Refusal } from '../faults/apply.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'
import { createUpbitStream } from '../upbit/stream.ts'
import { type Connection, createConnection, type ExchangeStream } from './connection.ts'
import { createWindowCounter } from './wire.ts'

/** Accepts and feeds WebSocket connections. */
export function createSockets(exchanges: SimulatedExchanges) {
  const { clock, faults } = exchanges
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  server.on('headers', (headers, { url = '/' }) => {
    if (exchangeOf(url) === 'upbit') headers.push('remaining-req: group=websocket; min=100; sec=3')
  })
  const open = new Map<Connection, Exchange>()
  const sockets = new Set<Duplex>()
  let pumpedTo = clock.now()
  let accepted = 0

  const pumpTo = (to: EpochMs): void => {
    const from = Math.min(pumpedTo, to)
    pumpedTo = to
    streams.upbit.pump(from, to)
    streams.binance.pump(from, to)
  }
  const pump = (): EpochMs => {
    const now = clock.now()
    for (let end = faults.nextEnd(); end <= now; end = faults.nextEnd()) {
      if (end > pumpedTo) pumpTo(end)
      faults.expire(end)
    }
    pumpTo(now)
    return now
  }
  const streams: Readonly<Record<Exchange, ExchangeStream>> = {
    upbit: createUpbitStream(exchanges, pump),
    binance: createBinanceStream(exchanges, pump),
  }
  const accept = (socket: WebSocket, exchange: Exchange, url: string): void => {
    pump()
    const connection = createConnection(exchanges, exchange, ++accepted, socket)
    const stream = streams[exchange]
    open.set(connection, exchange)
    socket.on('close', () => {
      open.delete(connection)
      stream.closed(connection)
    })
    // A client that breaks the protocol is closed by the library; its 'close' follows.
    socket.on('error', () => {})
    stream.open(connection, url)
    socket.on('message', message => stream.message(connection, message.toString()))
    socket.on('ping', () => stream.pinged?.(connection))
    if (faults.find('drop', { exchange })) connection.close()
  }
  const refusalOf = createDoorkeeper(exchanges)
  faults.onChange((change, active) => {
    const only = active.fault.exchange
    for (const [connection, exchange] of open) {
      if (only === 'both' || only === exchange) connection.onFault(change, active)
    }
  })
  return {
    /** Listener for node's `upgrade` event. */
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      const url = request.url ?? '/'
      const exchange = exchangeOf(url)
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      const refusal = exchange ? refusalOf(exchange, request) : { status: 404, headers: {} }
      if (exchange && !refusal) server.handleUpgrade(request, socket, head, ws => accept(ws, exchange, url))
      else if (refusal !== undefined && refusal !== 'hang') refuse(socket, refusal)
    },
    /** Sends everything that is due until now; returns that instant. */
    pump,
    count: (exchange: Exchange) => [...open.values()].filter(other => other === exchange).length,
    /** Cuts every connection, and every handshake that was left hanging. */
    closeAll() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Decides about handshakes: how to refuse one, or undefined to accept it. */
function createDoorkeeper({ clock, faults, limitFactor }: SimulatedExchanges) {
  const refusalOf = createRefusals(faults)
  // By address: Upbit allows 5 handshakes a second, Binance 300 in 5 minutes.
  const allowed = { upbit: 5 * limitFactor, binance: 300 * limitFactor }
  const counters = { upbit: createWindowCounter(1_000), binance: createWindowCounter(300_000) }
  return (exchange: Exchange, { url = '/', socket }: IncomingMessage): Refusal | undefined => {
    const count = counters[exchange](socket.remoteAddress ?? '', clock.now())
    return count > allowed[exchange] ? { status: 429, headers: {} } : refusalOf(exchange, 'ws', url)
  }
}

function exchangeOf(url: string): Exchange | undefined {
  const { pathname } = new URL(url, 'ws://simulator')
  if (pathname === '/websocket/v1') return 'upbit'
  return /^\/(ws|stream)(\/|$)/.test(pathname) ? 'binance' : undefined
}

function refuse(socket: Duplex, { status, headers }: Exclude<Refusal, 'hang'>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}
