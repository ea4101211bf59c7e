import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { listen } from '@kimchi/testkit'
import type { Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'

/** One accepted connection and the messages that it has sent. */
export interface Peer {
  readonly socket: WebSocket
  readonly request: IncomingMessage
  readonly received: string[]
  /** How many of them have been answered. */
  acknowledged: number
}

/** Acknowledges the next things that Binance is asked for on a connection, by default all of them. */
export function acknowledge(peer: Peer | undefined, count = Number.POSITIVE_INFINITY): void {
  const { acknowledged = 0, received = [] } = peer ?? {}
  for (const text of received.slice(acknowledged, acknowledged + count)) {
    peer?.socket.send(JSON.stringify({ result: null, id: JSON.parse(text).id }))
    if (peer) peer.acknowledged += 1
  }
}

/** Resolves when the client has read what it was sent. */
export async function untilRead(peer: Peer | undefined): Promise<void> {
  peer?.socket.ping()
  if (peer) await once(peer.socket, 'pong')
}

/** A WebSocket server that sends only what a test makes it send. @param autoPong answers pings */
export async function scriptExchange(t: Test, autoPong = true) {
  const peers: Peer[] = []
  const sockets = new Set<Socket>()
  const state = {
    attempts: 0,
    upgrade: undefined as ((socket: Socket, attempt: number) => boolean) | undefined,
  }
  const http = createServer()
  const ws = new WebSocketServer({ noServer: true, autoPong })
  http.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  http.on('upgrade', (request, socket, head) => {
    state.attempts += 1
    if (state.upgrade?.(socket as Socket, state.attempts)) {
      // Node notices that the client has gone only while it reads.
      socket.on('end', () => socket.end()).resume()
      return
    }
    ws.handleUpgrade(request, socket, head, accepted => {
      const peer: Peer = { socket: accepted, request, received: [], acknowledged: 0 }
      accepted.on('message', message => peer.received.push(String(message)))
      accepted.on('error', () => {})
      peers.push(peer)
    })
  })
  const url = `ws://127.0.0.1:${await listen(t, http)}`
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { url, peers, sockets, state }
}

/** Answers the handshake by a refusal over HTTP. */
export function refuseWith(status: string, headers = ''): (socket: Socket) => boolean {
  return socket => {
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n${headers}\r\n`)
    return true
  }
}

/** A miniTicker frame as Binance's combined stream sends it. */
export function miniTicker(market: string, price: string, eventAt: number): string {
  const payload = {
    e: '24hrMiniTicker',
    E: eventAt,
    s: market,
    c: price,
    o: '1',
    h: '1',
    l: '1',
    v: '1',
    q: '1',
  }
  return JSON.stringify({ stream: `${market.toLowerCase()}@miniTicker`, data: payload })
}

/** A ticker frame as Upbit sends it. */
export function upbitTicker(
  market: string,
  price: number,
  tradedAt: number,
  streamType: 'REALTIME' | 'SNAPSHOT' = 'REALTIME',
): Buffer {
  const times = { trade_timestamp: tradedAt, timestamp: tradedAt + 5 }
  return Buffer.from(
    JSON.stringify({
      type: 'ticker',
      code: market,
      trade_price: price,
      ...times,
      market_state: 'ACTIVE',
      is_trading_suspended: false,
      stream_type: streamType,
    }),
  )
}
