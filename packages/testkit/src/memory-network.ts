import { EventEmitter } from 'node:events'
import type { Milliseconds } from '@kimchi/core'
import type { MemorySimulator } from '@kimchi/simulator'

type Found = NonNullable<ReturnType<MemorySimulator['answer']>>
type Socket = Parameters<MemorySimulator['sockets']['connect']>[0]

/** An end of a {@link Wire}. */
export type End = 'client' | 'exchange'

/** What lies between a client and an exchange. */
export interface Carrier {
  /** Brings a packet to an end, after those before it. @param isFrame whether it may come more than once */
  carry(to: End, arrive: () => void, isFrame?: boolean): void
  /** Lets an end hear of what itself has done. */
  after(ms: Milliseconds, end: End, happen: () => void): void
}

/** Loses nothing, and takes no time. */
const atOnce: Carrier = {
  carry: (_to, arrive) => process.nextTick(arrive),
  after: (_ms, _end, happen) => process.nextTick(happen),
}

/** The exchanges' URLs as the variables that an ingester reads, for a network that has no hosts. */
export const MEMORY_URLS = {
  UPBIT_WS_URL: 'ws://upbit/websocket/v1',
  UPBIT_REST_URL: 'http://upbit',
  BINANCE_WS_URL: 'ws://binance',
  BINANCE_REST_URL: 'http://binance',
}

/** The network of a client of this simulator, without a port; Redis is reached by real sockets. */
export function networkOf(simulator: Pick<MemorySimulator, 'answer' | 'sockets'>) {
  return {
    redis: {},
    openSocket: (url: string) => openWire(simulator, new URL(url), 'test', atOnce).client,
    fetch: fetchFrom(simulator),
  }
}

/** As `fetch`, but asks a simulator of this process, without a socket. */
export function fetchFrom({ answer }: Pick<MemorySimulator, 'answer'>): typeof fetch {
  return async (input, init) => {
    const found = answer(new URL(String(input)))
    if (found !== undefined) return responseOf(found)
    return new Promise((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    })
  }
}

/** What the service reads of a response. */
export function responseOf({ status, headers, text }: Omit<Found, 'body'>): Response {
  const body = [Buffer.from(text)]
  return { status, ok: status < 300, headers: new Headers(headers), body } as unknown as Response
}

/** Opens a WebSocket to a simulator of this process, as far as that accepts it. */
export function openWire(
  { sockets }: Pick<MemorySimulator, 'sockets'>,
  url: URL,
  caller: string,
  carrier: Carrier,
): Wire {
  const wire = new Wire(carrier)
  carrier.carry('exchange', () => {
    if (wire.isOver) return
    const refusal = sockets.connect(wire.exchange, url, caller)
    if (refusal === 'hang') return
    wire.isOpen = refusal === undefined
    if (refusal === undefined) return wire.emit('client', 'open')
    const response = { statusCode: refusal.status, headers: refusal.headers, resume: () => {} }
    wire.emit('client', 'unexpected-response', undefined, response)
  })
  return wire
}

/** Both ends of a WebSocket, as `ws` shows them: what one sends arrives at the other, in order, until it is cut. */
export class Wire {
  readonly client: Socket
  readonly exchange: Socket
  readonly #carrier: Carrier
  /** Whether the exchange has accepted it. */
  isOpen = false
  isOver = false

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    this.client = this.#end('client', 'exchange')
    this.exchange = this.#end('exchange', 'client')
  }

  /** Has an end hear of an event when the packet arrives, if the wire is still there. */
  emit(end: End, event: string, ...args: readonly unknown[]): void {
    const arrive = () => void (this.isOver || this[end].emit(event, ...args))
    this.#carrier.carry(end, arrive, event === 'message')
  }

  /** Cuts it; a client that is not told of it hears nothing more. */
  cut(isNoticed: boolean): void {
    this.isOver = true
    for (const end of isNoticed ? (['client', 'exchange'] as const) : (['exchange'] as const))
      this.#carrier.after(1, end, () => this[end].emit('close', 1006, Buffer.alloc(0)))
  }

  #end(own: End, other: End): Socket {
    const socket = new EventEmitter()
    let isPaused = false
    const members = {
      OPEN: 1,
      readyState: 1,
      send: (data: string | Buffer) => this.emit(other, 'message', Buffer.from(data as string)),
      ping: () => this.emit(other, 'ping', Buffer.alloc(0)),
      pause: () => {
        isPaused = true
      },
      resume: () => {
        isPaused = false
      },
      close: (code = 1000, reason = '') => {
        this.#carrier.carry(other, () => {
          if (this.isOver) return
          this.isOver = true
          for (const end of [this.client, this.exchange]) end.emit('close', code, Buffer.from(reason))
        })
        // The peer of a cut connection doesn't answer: after its patience a closing end is alone.
        this.#carrier.after(500, own, () => socket.emit('close', 1006, Buffer.alloc(0)))
      },
      terminate: () => this.cut(true),
    }
    Object.defineProperty(socket, 'isPaused', { get: () => isPaused })
    return Object.assign(socket, members) as unknown as Socket
  }
}
