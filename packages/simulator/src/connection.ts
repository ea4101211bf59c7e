import type { WebSocket } from 'ws'
import type { ActiveFault, FaultBoard, FaultTarget } from './faults.ts'
import { garbageFrom } from './garbage.ts'
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
}

interface Waiting {
  readonly due: EpochMs
  readonly market: string | undefined
  readonly payload: string | Buffer
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
    if (garbage) faults.spend(garbage)
    this.#order(garbage ? garbageFrom(garbage.fault.shape, text) : text, target)
  }

  /** Sends an answer or an error, which only a half-open connection holds back. */
  reply(text: string): void {
    if (!this.#halfOpen()) this.#write(text, undefined)
  }

  /** A server's ping frame. */
  ping(): void {
    if (!this.#halfOpen() && this.#socket.readyState === this.#socket.OPEN)
      this.#socket.ping(String(this.#context.clock.now()))
  }

  /** Sends what a delay has held until now. */
  flush(now: EpochMs): void {
    while (this.#waiting[0] && this.#waiting[0].due <= now) {
      const { payload, market } = this.#waiting.shift() as Waiting
      this.#write(payload, market)
    }
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

  #order(payload: string | Buffer, target: FaultTarget): void {
    const { faults, clock } = this.#context
    const frame: Waiting = { due: clock.now(), market: target.market, payload }
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
    this.#write(payload, target.market)
  }

  #swap(frame: Waiting, reorder: ActiveFault | undefined): void {
    const held = this.#held
    this.#held = undefined
    if (!held && reorder) {
      this.#context.faults.spend(reorder)
      this.#held = frame
      return
    }
    this.#write(frame.payload, frame.market)
    if (held) this.#write(held.payload, held.market)
  }

  #write(payload: string | Buffer, market: string | undefined): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const { exchange, number, clock, binary, onFrame } = this.#context
    this.#socket.send(payload, { binary })
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
