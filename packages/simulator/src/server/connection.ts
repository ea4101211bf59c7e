import type { WebSocket } from 'ws'
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
  /** Stops or resumes reading, as a half-open connection has it. */
  applyHalfOpen(): void
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
  const halfOpen = (): ActiveFault | undefined => faults.find('half-open', { exchange, connection: number })
  const write = (payload: string | Buffer, market?: string): void => {
    if (socket.readyState !== socket.OPEN) return
    // Upbit sends binary frames, Binance text.
    socket.send(payload, { binary: exchange === 'upbit' })
    const text = typeof payload === 'string' ? payload : payload.toString('latin1')
    onFrame({ exchange, connection: number, sentAt: clock.now(), text, ...(market ? { market } : {}) })
  }
  return {
    number,
    stream(text, market) {
      const target = { exchange, market, connection: number }
      const silence = faults.find('silence', target) ?? halfOpen()
      const garbage = silence ? undefined : faults.find('garbage', target)
      const active = silence ?? garbage
      if (active) faults.spend(active)
      if (!silence) write(garbage ? garbageFrom(garbage.fault.shape, text) : text, market)
    },
    reply(message) {
      if (!halfOpen()) write(JSON.stringify(message))
    },
    applyHalfOpen() {
      if (halfOpen()) socket.pause()
      else if (socket.isPaused) socket.resume()
    },
    close(code, reason = '') {
      if (code === undefined || socket.isPaused) socket.terminate()
      else socket.close(code, reason)
    },
  }
}
