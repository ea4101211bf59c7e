import type { WebSocket } from 'ws'
import type { ActiveFault, FaultBoard, FaultTarget, GarbageShape } from './faults.ts'
import { garbageFrom, maskedFrame } from './garbage.ts'
import type { EpochMs, Exchange, SimulatorClock } from './types.ts'

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

/** What a connection needs from its server. */
export interface ConnectionContext {
  readonly exchange: Exchange
  readonly number: number
  readonly binary: boolean
  readonly clock: SimulatorClock
  readonly faults: FaultBoard
  readonly onFrame: (frame: SentFrame) => void
  /** Writes bytes to the socket past the WebSocket protocol. */
  readonly writeRaw: (bytes: Buffer) => void
}

interface Waiting {
  readonly due: EpochMs
  readonly market: string | undefined
  readonly payload: string | Buffer
  readonly shape?: GarbageShape
}

/** One open WebSocket of a client: everything sent passes the faults of frames and is recorded. */
export class Connection {
  readonly number: number
  readonly openedAt: EpochMs
  readonly #socket: WebSocket
  readonly #context: ConnectionContext
  #waiting: Waiting[] = []
  #held: Waiting | undefined

  constructor(socket: WebSocket, context: ConnectionContext) {
    this.#socket = socket
    this.#context = context
    this.number = context.number
    this.openedAt = context.clock.now()
  }

  /** Sends one frame of a stream, as far as the faults let it. @param market left out for frames of several markets */
  stream(text: string, market?: string): void {
    const { faults } = this.#context
    const target = this.#target(market)
    const swallowed = faults.find('stall', target) ?? this.#halfOpen()
    if (swallowed) {
      faults.spend(swallowed)
      return
    }
    const garbage = faults.find('garbage', target)
    const frame = { due: this.#context.clock.now(), market }
    if (!garbage) {
      this.#order({ ...frame, payload: text }, target)
      return
    }
    const { shape } = garbage.fault
    faults.spend(garbage)
    this.#order({ ...frame, payload: garbageFrom(shape, text), shape }, target)
  }

  /** Sends an answer or an error, which only a half-open connection holds back. */
  reply(text: string): void {
    if (!this.#halfOpen()) this.#write({ due: 0, market: undefined, payload: text })
  }

  /** A server's ping frame. */
  ping(): void {
    if (!this.#halfOpen() && this.#socket.readyState === this.#socket.OPEN)
      this.#socket.ping(String(this.#context.clock.now()))
  }

  /** Sends what a delay has held until now. */
  flush(now: EpochMs): void {
    while (this.#waiting[0] && this.#waiting[0].due <= now) this.#write(this.#waiting.shift() as Waiting)
  }

  /** Stops or goes on reading, as a half-open connection has it. */
  applyHalfOpen(): void {
    if (this.#halfOpen()) this.#socket.pause()
    else if (this.#socket.isPaused) this.#socket.resume()
  }

  /** Whether the client's silence proves nothing, because the simulator itself does not listen. */
  get deaf(): boolean {
    return this.#socket.isPaused
  }

  /** Closes with a close frame, or cuts the socket when `code` is left out. */
  close(code?: number, reason = ''): void {
    if (code === undefined || this.deaf) this.#socket.terminate()
    else this.#socket.close(code, reason)
  }

  #order(frame: Waiting, target: FaultTarget): void {
    const { faults } = this.#context
    const delay = faults.find('delay', target)
    if (delay) faults.spend(delay)
    if (delay || this.#waiting.length > 0) {
      // Also after the delay has ended a frame waits behind those that are still held.
      this.#waiting.push({ ...frame, due: frame.due + (delay?.fault.ms ?? 0) })
      return
    }
    this.#swap(frame, faults.find('reorder', target))
    const duplicate = faults.find('duplicate', target)
    if (!duplicate) return
    faults.spend(duplicate)
    this.#write(frame)
  }

  #swap(frame: Waiting, reorder: ActiveFault | undefined): void {
    const held = this.#held
    this.#held = undefined
    if (!held && reorder) {
      this.#context.faults.spend(reorder)
      this.#held = frame
      return
    }
    this.#write(frame)
    if (held) this.#write(held)
  }

  #write({ payload, market, shape }: Waiting): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const { exchange, number, clock, binary, onFrame, writeRaw } = this.#context
    if (shape === 'masked') writeRaw(maskedFrame(Buffer.from(payload)))
    else this.#socket.send(payload, { binary, compress: shape === 'bomb' })
    const text = typeof payload === 'string' ? payload : payload.toString('latin1')
    onFrame({ exchange, connection: number, sentAt: clock.now(), text, ...(market ? { market } : {}) })
  }

  #halfOpen(): ActiveFault | undefined {
    return this.#context.faults.find('half-open', this.#target())
  }

  #target(market?: string): FaultTarget {
    return { exchange: this.#context.exchange, market, connection: this.number }
  }
}
