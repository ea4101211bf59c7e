import { EventEmitter } from 'node:events'
import type { EpochMs, Milliseconds } from '@kimchi/core'
import type { Network } from '@kimchi/ingester'
import { createSimulator, type MemorySimulator, type SimulatorOptions } from '@kimchi/simulator'
import { responseOf } from '@kimchi/testkit'
import type { Host, World } from './world.ts'

type Socket = ReturnType<Network['openSocket']>

/** What the network does to one host's traffic with an exchange. */
export interface Weather {
  /** Longest one-way time of a packet. */
  latencyMs: Milliseconds
  /** Nothing arrives before this instant; what was sent comes then. */
  stalledUntil: EpochMs
  /** How often each frame comes. */
  copies: number
  /** What becomes of answers that are lists. */
  readonly alterations: Set<Alteration>
  /** Candles that an answer has lacked, by symbol and minute, and markets of which one was short. */
  readonly absentOnce: Set<string>
}

/** @param url path and query of the request */
export type Alteration = (url: string, rows: readonly unknown[]) => readonly unknown[]

const PUMP_MS: Milliseconds = 400
/** As the service's own limit, which runs by the machine's clock. */
const REQUEST_TIMEOUT_MS: Milliseconds = 10_000

/** Both exchanges in memory, and the way to them of each host. */
export function openExchanges(world: World, options: SimulatorOptions) {
  const simulator: MemorySimulator = createSimulator({
    clock: { now: () => world.now },
    limits: false,
    ...options,
  })
  const pump = () => {
    simulator.pump()
    world.after(PUMP_MS, pump)
  }
  pump()
  const ends = new Set<Wire>()
  const networkOf = (host: Host, weather: Weather): Pick<Network, 'openSocket' | 'fetch'> => ({
    openSocket: url => {
      const wire = new Wire(world, host, weather)
      world.after(wire.delay(), () => {
        if (wire.isOver || host.isDead) return
        const refusal = simulator.sockets.connect(wire.far, new URL(url), host.name)
        if (refusal === 'hang') return
        if (refusal) {
          const { status: statusCode, headers } = refusal
          const response = { statusCode, headers, resume: () => {} }
          world.after(wire.delay(), () => wire.near.emit('unexpected-response', undefined, response), host)
          return
        }
        ends.add(wire)
        wire.far.once('close', () => ends.delete(wire))
        wire.open()
      })
      return wire.near
    },
    fetch: (input, init) => {
      const url = new URL(String(input))
      return new Promise((resolve, reject) => {
        const signal = init?.signal
        const abort = () => reject(new Error('aborted'))
        signal?.addEventListener('abort', abort, { once: true })
        const timeout = new Error(`no answer within ${REQUEST_TIMEOUT_MS} ms`)
        world.after(REQUEST_TIMEOUT_MS, () => reject(timeout), host)
        const delay = () =>
          Math.max(weather.stalledUntil - world.now, host.network.between(5, weather.latencyMs + 6))
        world.after(delay(), () => {
          const found = host.isDead ? undefined : simulator.answer(url, host.name)
          if (found === undefined) return
          const text =
            found.status < 300 ? alteredText(found.text, url.pathname + url.search, weather) : found.text
          world.after(delay(), () => resolve(responseOf({ ...found, text })), host)
        })
      })
    },
  })
  return { simulator, networkOf, openSockets: () => ends.size, wires: ends }
}

/** Both ends of a WebSocket: what one sends arrives at the other later, in order, until it is cut. */
class Wire {
  readonly near: Socket
  readonly far: Socket
  readonly host: Host
  isOver = false
  stalledUntil: EpochMs = 0
  readonly #world: World
  readonly #weather: Weather
  /** Packets of a direction don't overtake each other. */
  readonly #arrival = { near: 0, far: 0 }

  constructor(world: World, host: Host, weather: Weather) {
    this.#world = world
    this.host = host
    this.#weather = weather
    this.near = this.#end('near', 'far')
    this.far = this.#end('far', 'near')
  }

  delay(): Milliseconds {
    return this.host.network.between(2, this.#weather.latencyMs + 3)
  }

  open(): void {
    this.#carry('near', () => this.near.emit('open'))
  }

  /** Cuts the connection; an end that is not told of it hears nothing more. */
  cut(isNoticed: boolean): void {
    this.isOver = true
    if (isNoticed) this.#world.after(1, () => this.near.emit('close', 1006, Buffer.alloc(0)), this.host)
    this.#world.after(1, () => this.far.emit('close', 1006, Buffer.alloc(0)))
  }

  #carry(to: 'near' | 'far', arrive: () => void): void {
    const free = Math.max(this.stalledUntil, this.#weather.stalledUntil)
    const at = Math.max(this.#world.now + this.delay(), free, this.#arrival[to])
    this.#arrival[to] = at
    this.#world.at(at, () => this.isOver || arrive(), to === 'near' ? this.host : undefined)
  }

  #end(own: 'near' | 'far', other: 'near' | 'far'): Socket {
    const socket = new EventEmitter()
    const close = (code: number, reason: string) => {
      this.#carry(other, () => {
        this.isOver = true
        for (const end of [this.near, this.far]) end.emit('close', code, Buffer.from(reason))
      })
    }
    let isPaused = false
    const members = {
      OPEN: 1,
      readyState: 1,
      send: (data: string | Buffer) => {
        const bytes = Buffer.from(data as string)
        const copies = own === 'far' ? this.#weather.copies : 1
        for (let copy = 0; copy < copies; copy++) this.#carry(other, () => this[other].emit('message', bytes))
      },
      ping: () => this.#carry(other, () => this[other].emit('ping', Buffer.alloc(0))),
      pause: () => {
        isPaused = true
      },
      resume: () => {
        isPaused = false
      },
      close: (code = 1000, reason = '') => {
        close(code, reason)
        // The peer of a cut connection doesn't answer: after its patience a closing end is alone.
        this.#world.after(
          500,
          () => socket.emit('close', 1006, Buffer.alloc(0)),
          own === 'near' ? this.host : undefined,
        )
      },
      terminate: () => this.cut(true),
    }
    Object.defineProperty(socket, 'isPaused', { get: () => isPaused })
    return Object.assign(socket, members) as unknown as Socket
  }
}

function alteredText(text: string, url: string, { alterations }: Weather): string {
  if (alterations.size === 0) return text
  let rows: unknown
  try {
    rows = JSON.parse(text)
  } catch {
    // Another fault has cut it.
    return text
  }
  if (!Array.isArray(rows)) return text
  let altered: readonly unknown[] = rows
  for (const alter of alterations) altered = alter(url, altered)
  return JSON.stringify(altered)
}
