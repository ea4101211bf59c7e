import { dueFrames } from './binance-frames.ts'
import { readBinanceRequest } from './binance-requests.ts'
import type { Connection } from './connection.ts'
import { createWindowCounter } from './limits.ts'
import type { EpochMs, Milliseconds } from './types.ts'
import type { StreamSide, World } from './world.ts'

/** Binance's spot streams. @see exchange-protocols §3 */
export interface BinanceStream extends StreamSide {
  /** Takes over an open connection. @param url path and query of the handshake */
  open(connection: Connection, url: string): void
  /** One message of the client. */
  message(connection: Connection, text: string): void
  /** A ping or pong frame of the client; it counts towards the message limit. */
  controlFrame(connection: Connection, isPong: boolean): void
  closed(connection: Connection): void
  /** Announces the server's end to the connection, and closes it `closeAfterMs` later when that is given. */
  announceShutdown(connection: Connection, closeAfterMs?: Milliseconds): void
}

interface Client {
  readonly streams: Set<string>
  combined: boolean
  pingAt: EpochMs
  closeAt: EpochMs
  /** When the oldest ping without an answer was sent. */
  unansweredSince: EpochMs | undefined
}

const MAX_STREAMS = 1_024
const MAX_MESSAGES_PER_SECOND = 5

/** The streaming half of Binance. @param settle sends what is due before a subscription takes effect */
export function createBinanceStream(world: World, settle: () => EpochMs): BinanceStream {
  const clients = new Map<Connection, Client>()
  const perSecond = createWindowCounter(1_000)

  const isTooFast = (connection: Connection): boolean => {
    const count = perSecond.add(String(connection.number), world.clock.now())
    if (!world.limits || count <= MAX_MESSAGES_PER_SECOND) return false
    connection.close(1008, 'Too many requests')
    return true
  }
  const subscribe = (
    connection: Connection,
    client: Client,
    streams: readonly string[],
    id: unknown,
  ): void => {
    const wanted = new Set([...client.streams, ...streams])
    if (wanted.size > MAX_STREAMS) {
      connection.reply(JSON.stringify({ error: { code: 4, msg: 'Too many subscriptions' }, id }))
      return
    }
    settle()
    for (const stream of streams) client.streams.add(stream)
    connection.reply(JSON.stringify({ result: null, id }))
  }
  const answer = (connection: Connection, client: Client, text: string): void => {
    const request = readBinanceRequest(text)
    if (request.kind === 'error') {
      connection.reply(JSON.stringify(request.answer))
      return
    }
    const { id } = request
    if (request.kind === 'subscribe') {
      subscribe(connection, client, request.streams, id)
      return
    }
    let result: unknown = null
    if (request.kind === 'unsubscribe') for (const stream of request.streams) client.streams.delete(stream)
    if (request.kind === 'list') result = [...client.streams]
    if (request.kind === 'get-combined') result = client.combined
    if (request.kind === 'set-combined') client.combined = request.combined
    connection.reply(JSON.stringify({ result, id }))
  }
  return {
    open(connection, url) {
      const { streams, combined } = streamsOf(url)
      const { binancePingMs, maxConnectionMs } = world.keepalive
      const pingAt = connection.openedAt + binancePingMs
      const closeAt = connection.openedAt + maxConnectionMs
      clients.set(connection, {
        streams: new Set(streams),
        combined,
        pingAt,
        closeAt,
        unansweredSince: undefined,
      })
    },
    closed: connection => void clients.delete(connection),
    message(connection, text) {
      const client = clients.get(connection)
      if (client && !isTooFast(connection)) answer(connection, client, text)
    },
    controlFrame(connection, isPong) {
      const client = clients.get(connection)
      if (client && isPong) client.unansweredSince = undefined
      isTooFast(connection)
    },
    announceShutdown(connection, closeAfterMs = Number.POSITIVE_INFINITY) {
      const client = clients.get(connection)
      if (!client) return
      const payload = { e: 'serverShutdown', E: world.clock.now() }
      client.closeAt = Math.min(client.closeAt, payload.E + closeAfterMs)
      connection.reply(
        JSON.stringify(client.combined ? { stream: '!serverShutdown', data: payload } : payload),
      )
    },
    pump(from, to) {
      for (const [connection, client] of clients) keepAlive(world, connection, client)
      const byStream = subscribers(clients)
      const due = [...byStream.keys()].flatMap(stream => dueFrames(world, stream, from, to))
      due.sort((a, b) => a.at - b.at)
      for (const { stream, market, payload } of due) {
        const event = payload()
        if (!event) continue
        const raw = JSON.stringify(event)
        for (const [connection, client] of byStream.get(stream) ?? []) {
          const text = client.combined ? `{"stream":${JSON.stringify(stream)},"data":${raw}}` : raw
          connection.stream(text, market?.code)
        }
      }
    },
  }
}

function keepAlive(world: World, connection: Connection, client: Client): void {
  const now = world.clock.now()
  const { binancePingMs, binancePongMs } = world.keepalive
  if (now >= client.closeAt) {
    connection.close(1001, 'Connection lifetime reached')
    return
  }
  if (connection.deaf) return
  if (client.unansweredSince !== undefined && now - client.unansweredSince >= binancePongMs) {
    connection.close(1008, 'Pong timeout')
    return
  }
  if (now < client.pingAt) return
  client.pingAt = now + binancePingMs
  client.unansweredSince ??= now
  connection.ping()
}

function subscribers(clients: ReadonlyMap<Connection, Client>): Map<string, [Connection, Client][]> {
  const byStream = new Map<string, [Connection, Client][]>()
  for (const [connection, client] of clients) {
    for (const stream of client.streams) {
      const known = byStream.get(stream)
      if (known) known.push([connection, client])
      else byStream.set(stream, [[connection, client]])
    }
  }
  return byStream
}

function streamsOf(url: string): { streams: string[]; combined: boolean } {
  const { pathname, searchParams } = new URL(url, 'ws://simulator')
  const combined = pathname.startsWith('/stream')
  const names = combined
    ? (searchParams.get('streams') ?? '')
    : decodeURIComponent(pathname.slice('/ws/'.length))
  return { streams: names.split('/').filter(name => name !== ''), combined }
}
