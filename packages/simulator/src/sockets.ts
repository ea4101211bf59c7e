import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type BinanceStream, createBinanceStream } from './binance-stream.ts'
import { Connection, type SentFrame } from './connection.ts'
import { createWindowCounter } from './limits.ts'
import type { EpochMs, Exchange } from './types.ts'
import { createUpbitStream, type UpbitStream } from './upbit-stream.ts'
import type { World } from './world.ts'

/** All open WebSockets of both exchanges. */
export interface Sockets {
  /** Listener for node's `upgrade` event. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Sends everything that is due until the clock's present; returns that instant. */
  readonly pump: () => EpochMs
  readonly count: (exchange: Exchange) => number
  /** Cuts every connection and every handshake that was left hanging. */
  readonly closeAll: () => void
}

interface Open {
  readonly exchange: Exchange
  readonly connection: Connection
}

/** Accepts and feeds WebSocket connections. @param onFrame hears of every frame sent */
export function createSockets(world: World, onFrame: (frame: SentFrame) => void): Sockets {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  const open = new Set<Open>()
  const hanging = new Set<Duplex>()
  let pumpedTo = world.clock.now()

  const pump = (): EpochMs => {
    const now = world.clock.now()
    world.faults.expire()
    const from = Math.min(pumpedTo, now)
    pumpedTo = now
    upbit.pump(from, now)
    binance.pump(from, now)
    for (const { connection } of open) connection.flush(now)
    return now
  }
  const upbit: UpbitStream = createUpbitStream(world, pump)
  const binance: BinanceStream = createBinanceStream(world, pump)

  const accept = (socket: WebSocket, raw: Duplex, exchange: Exchange, url: string): void => {
    pump()
    world.lastConnection.number += 1
    const { clock, faults, lastConnection } = world
    const context = {
      exchange,
      number: lastConnection.number,
      binary: exchange === 'upbit',
      clock,
      faults,
      onFrame,
      writeRaw: (bytes: Buffer) => void raw.write(bytes),
    }
    const connection = new Connection(socket, context)
    const entry: Open = { exchange, connection }
    open.add(entry)
    socket.on('close', () => {
      open.delete(entry)
      if (exchange === 'upbit') upbit.closed(connection)
      else binance.closed(connection)
    })
    // A client that breaks the protocol is closed by the library; its 'close' follows.
    socket.on('error', () => {})
    const drop = faults.find('drop', { exchange, connection: connection.number })
    if (drop) connection.close(drop.fault.code)
    if (exchange === 'upbit') attachUpbit(socket, connection, upbit)
    else attachBinance(socket, connection, binance, url)
  }
  const handshakes = createWindowCounter(1_000)
  watchFaults(world, open, upbit, binance)
  return {
    upgrade(request, socket, head) {
      const url = request.url ?? '/'
      const exchange = exchangeOf(url)
      socket.on('error', () => {})
      if (!exchange) {
        refuse(socket, 404)
        return
      }
      const caller = `${request.socket.remoteAddress}/${exchange}`
      const isTooFast = exchange === 'upbit' && handshakes.add(caller, world.clock.now()) > 5
      if (isTooFast && world.limits) {
        refuse(socket, 429)
        return
      }
      const fault = world.faults.find('refuse', { exchange })
      if (fault && fault.fault.on !== 'rest') {
        world.faults.spend(fault)
        if (fault.fault.status !== 'hang') {
          refuse(socket, fault.fault.status)
          return
        }
        hanging.add(socket)
        socket.on('close', () => hanging.delete(socket))
        return
      }
      server.handleUpgrade(request, socket, head, accepted => accept(accepted, socket, exchange, url))
    },
    pump,
    count: exchange => [...open].filter(entry => entry.exchange === exchange).length,
    closeAll() {
      for (const { connection } of open) connection.close()
      for (const socket of hanging) socket.destroy()
    },
  }
}

function attachUpbit(socket: WebSocket, connection: Connection, upbit: UpbitStream): void {
  upbit.open(connection)
  socket.on('message', message => upbit.message(connection, message.toString()))
  socket.on('ping', () => upbit.heard(connection))
  socket.on('pong', () => upbit.heard(connection))
}

function attachBinance(socket: WebSocket, connection: Connection, binance: BinanceStream, url: string): void {
  binance.open(connection, url)
  socket.on('message', message => binance.message(connection, message.toString()))
  socket.on('ping', () => binance.controlFrame(connection, false))
  socket.on('pong', () => binance.controlFrame(connection, true))
}

/** The faults that act at once instead of on the next frame. */
function watchFaults(
  world: World,
  open: ReadonlySet<Open>,
  upbit: UpbitStream,
  binance: BinanceStream,
): void {
  world.faults.onChange((change, { id, fault }) => {
    const hit = [...open].filter(({ exchange }) => fault.exchange === 'both' || fault.exchange === exchange)
    if (fault.kind === 'half-open') for (const { connection } of hit) connection.applyHalfOpen()
    if (fault.kind === 'halt' && fault.market) upbit.announce(fault.market)
    if (change === 'ended') return
    if (fault.kind === 'drop') for (const { connection } of hit) connection.close(fault.code)
    if (fault.kind === 'shutdown') {
      for (const { connection, exchange } of hit) {
        if (exchange === 'binance') binance.announceShutdown(connection, fault.closeAfterMs)
      }
    }
    const isOver = fault.kind === 'shutdown' || (fault.kind === 'drop' && fault.forMs === undefined)
    if (isOver) world.faults.clear(id)
  })
}

function exchangeOf(url: string): Exchange | undefined {
  const { pathname } = new URL(url, 'ws://simulator')
  if (pathname === '/websocket/v1') return 'upbit'
  return /^\/(ws|stream)(\/|$)/.test(pathname) ? 'binance' : undefined
}

function refuse(socket: Duplex, status: number): void {
  const location = status >= 300 && status < 400 ? 'Location: https://example.invalid/\r\n' : ''
  const wait = status === 429 || status === 418 ? 'Retry-After: 1\r\n' : ''
  socket.end(`HTTP/1.1 ${status} Refused\r\n${location}${wait}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}
