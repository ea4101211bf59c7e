import type { WebSocket } from 'ws'
import { GARBAGE } from '../faults/apply.ts'
import type { ActiveFault } from '../faults/fault.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'

/** One open WebSocket of a client; every frame passes the faults and is reported. */
export type Connection = ReturnType<typeof createConnection>

/** One exchange's side of the connections to it. */
export interface ExchangeStream {
  /** Takes over an open connection. @param url path and query of the handshake */
  open(connection: Connection, url: string): void
  /** One message of the client. */
  message(connection: Connection, text: string): void
  closed(connection: Connection): void
  /** The client sent a WebSocket ping. */
  pinged?(connection: Connection): void
  /** Sends everything that is due in [from, to), in time order. */
  pump(from: EpochMs, to: EpochMs): void
}

/** Takes over an open socket. */
export function createConnection(
  { faults, onFrame }: SimulatedExchanges,
  exchange: Exchange,
  number: number,
  socket: WebSocket,
) {
  /** Frames that come when a silence ends, by its id. */
  const held = new Map<number, (() => void)[]>()
  /** The half-open faults that were set while it was open. */
  const halfOpen = new Set<ActiveFault>()

  const write = (payload: string | Buffer): void => {
    if (socket.readyState !== socket.OPEN) return
    // Upbit sends binary frames, Binance text.
    socket.send(payload, { binary: exchange === 'upbit' })
    onFrame({ exchange, connection: number, text: payload.toString('latin1') })
  }
  const send = (text: string, market: string): void => {
    const garbage = faults.find('garbage', { exchange, market })
    write(garbage ? GARBAGE[garbage.fault.shape](text) : text)
    if (garbage) faults.spend(garbage)
  }
  /** Closes with a close frame, or cuts the socket when `code` is left out. */
  const close = (code?: number, reason = ''): void => {
    if (code === undefined || socket.isPaused) socket.terminate()
    else socket.close(code, reason)
  }
  return {
    number,
    close,
    /** Sends one frame of a stream, as far as the faults let it. */
    stream(text: string, market: string) {
      const silence = faults.find('silence', { exchange, market })
      if (silence?.fault.delivery === 'late') {
        const frames = held.get(silence.id) ?? []
        held.set(silence.id, frames)
        frames.push(() => send(text, market))
      }
      const [deaf] = halfOpen
      const active = silence ?? deaf
      if (active) faults.spend(active)
      else send(text, market)
    },
    /** Sends a reply or an error, which only a half-open connection holds back. */
    reply(message: object) {
      if (halfOpen.size === 0) write(JSON.stringify(message))
    },
    /** Applies what acts at once when a fault is set or ends. */
    onFault(change: 'set' | 'ended', active: ActiveFault) {
      const { id, fault } = active
      if (fault.kind === 'half-open') {
        if (change === 'set') halfOpen.add(active)
        else halfOpen.delete(active)
        if (halfOpen.size > 0) socket.pause()
        else socket.resume()
      }
      if (fault.kind === 'drop' && change === 'set') close()
      if (change === 'set') return
      for (const sendHeld of held.get(id) ?? []) sendHeld()
      held.delete(id)
    },
  }
}

/** Every key, a code or a stream, with the connections that listen to it. */
export function subscribersByKey<C>(
  clients: ReadonlyMap<Connection, C>,
  keysOf: (client: C) => Iterable<string>,
): Map<string, Connection[]> {
  const byKey = new Map<string, Connection[]>()
  for (const [connection, client] of clients) {
    for (const key of keysOf(client)) {
      const known = byKey.get(key)
      if (known) known.push(connection)
      else byKey.set(key, [connection])
    }
  }
  return byKey
}
