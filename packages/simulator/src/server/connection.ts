import type { WebSocket } from 'ws'
import type { FaultListener } from '../faults/board.ts'
import type { ActiveFault } from '../faults/fault.ts'
import { garbageFrom } from '../faults/garbage.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'

/** One frame as it left the simulator. */
export interface SentFrame {
  readonly exchange: Exchange
  /** Number of the connection, counted from 1 over both exchanges. */
  readonly connection: number
  readonly sentAt: EpochMs
  readonly text: string
  /** The market it belongs to, when it is one. */
  readonly market?: string
}

/** One open WebSocket of a client; every frame passes the faults and is reported. */
export interface Connection {
  readonly number: number
  /** Sends one frame of a stream, as far as the faults let it. */
  stream(text: string, market: string): void
  /** Sends a reply or an error, which only a half-open connection holds back. */
  reply(message: object): void
  /** Applies what acts at once when a fault is set or ends. */
  readonly onFault: FaultListener
  /** Closes with a close frame, or cuts the socket when `code` is left out. */
  close(code?: number, reason?: string): void
}

/** One exchange's side of the connections to it. */
export interface ExchangeStream {
  /** Takes over an open connection. @param url path and query of the handshake */
  open(connection: Connection, url: string): void
  /** One message of the client. */
  message(connection: Connection, text: string): void
  closed(connection: Connection): void
  /** Sends everything that is due in [from, to), in time order. */
  pump(from: EpochMs, to: EpochMs): void
}

/** Takes over an open socket. @param onFrame called for every frame sent */
export function createConnection(
  { clock, faults }: SimulatedExchanges,
  exchange: Exchange,
  number: number,
  socket: WebSocket,
  onFrame: (frame: SentFrame) => void,
): Connection {
  const target = { exchange, connection: number }
  /** Frames that come when a silence ends, by its id. */
  const held = new Map<number, (() => void)[]>()
  let streamed = 0
  let isDropped = false
  const halfOpen = (): ActiveFault | undefined => faults.find('half-open', target)
  const close: Connection['close'] = (code, reason = '') => {
    if (code === undefined || socket.isPaused) socket.terminate()
    else socket.close(code, reason)
  }
  const write = (payload: string | Buffer, market?: string, onSent?: () => void): void => {
    if (socket.readyState !== socket.OPEN) return
    // Upbit sends binary frames, Binance text.
    socket.send(payload, { binary: exchange === 'upbit' }, onSent)
    const text = typeof payload === 'string' ? payload : payload.toString('latin1')
    onFrame({ exchange, connection: number, sentAt: clock.now(), text, ...(market ? { market } : {}) })
  }
  const stream: Connection['stream'] = (text, market) => {
    if (isDropped) return
    streamed += 1
    const isLast = ({ afterFrames = Number.POSITIVE_INFINITY }) => streamed >= afterFrames
    const drop = faults.find('drop', target, isLast)
    isDropped = drop !== undefined
    const garbage = faults.find('garbage', { ...target, market })
    const payload = garbage ? garbageFrom(garbage.fault.shape, text) : text
    write(payload, market, drop && (() => close(drop.fault.code)))
    if (garbage) faults.spend(garbage)
  }
  return {
    number,
    close,
    stream(text, market) {
      const silence = faults.find('silence', { ...target, market })
      if (silence?.fault.delivery === 'late') {
        const frames = held.get(silence.id) ?? []
        held.set(silence.id, frames)
        frames.push(() => stream(text, market))
      }
      const active = silence ?? halfOpen()
      if (active) faults.spend(active)
      else stream(text, market)
    },
    reply(message) {
      if (!halfOpen()) write(JSON.stringify(message))
    },
    onFault(change, { id, fault }) {
      if (fault.kind === 'half-open') {
        if (halfOpen()) socket.pause()
        else if (socket.isPaused) socket.resume()
      }
      if (fault.kind === 'drop' && change === 'set' && fault.afterFrames === undefined) close(fault.code)
      if (change === 'set') return
      for (const send of held.get(id) ?? []) send()
      held.delete(id)
    },
  }
}
