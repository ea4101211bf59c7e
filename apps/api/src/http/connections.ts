import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Limits that keep clients from slowing down others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  connections: 5_000,
  /** For a client that reads nothing: its connection is cut after 22.5 to 45 s. */
  unreadTimeout: 22_500,
  /** Requests that are not answered yet, besides one for each connection, which share them; each takes 4 kB. */
  pipelined: 4_000,
  server: {
    /** Request line and headers together. */
    maxHeaderSize: 8_192,
    /**
     * From the first byte of a request, or from connecting, to the last of its headers. In a flood a caller waits up to
     * 5 s until anything is read of it (docs/faults.md, 67), and must not get a 408 for that.
     */
    headersTimeout: 10_000,
    /** Until the end of a request's body, which nothing reads. */
    requestTimeout: 10_000,
    /** Longer than the usual 60 s of a proxy in front, so that it is the proxy that closes. */
    keepAliveTimeout: 65_000,
    /** How often Node looks for requests that are late. */
    connectionsCheckingInterval: 1_000,
    /** The app checks it, because Node's own refusal is neither JSON nor readable by a page. */
    requireHostHeader: false,
    /** Otherwise Node drops a second Host without a word. */
    joinDuplicateHeaders: true,
    /** Creates no stream for a body that no header announces. Node ignores it before 24.12. */
    optimizeEmptyRequests: true,
  },
}

/** As many connections as Node lets the kernel hold for it: who opens more must not stop all others. */
const MOST_TURNS_HELD = 511

/** Cuts connections, so that memory stays bounded whatever clients ask for and don't read. */
export class Connections {
  readonly #limits: typeof LIMITS
  /** The responses of each that are not sent yet, oldest first. */
  readonly #pending = new Map<Socket, ServerResponse[]>()
  #opened = 0
  /** Turns of Node's loop for which nothing has been read. */
  #turnsHeld = 0

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** Notes a connection, before its first request. */
  open(socket: Socket): void {
    this.#opened += 1
    this.#pending.set(socket, [])
    // Not before Node has begun to read.
    if (this.#turnsHeld > 0) process.nextTick(() => socket.pause())
    socket.once('close', () => this.#pending.delete(socket))
  }

  /** Notes a request; false when its connection was cut, so that nobody waits for a response. */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const responses = this.#pending.get(socket)
    if (responses === undefined) return false
    while (responses[0]?.closed) responses.shift()
    if (responses.push(response) > 1) {
      this.cutUnlessRead(socket)
      if (responses.length > 1 + this.#limits.pipelined / this.#pending.size) this.#cut(socket)
    }
    return !socket.destroyed
  }

  /** Cuts a connection whose client stops reading. */
  cutUnlessRead(socket: Socket): void {
    const { unreadTimeout } = this.#limits
    // Node restarts the time whenever the client reads, and ends it when nothing is left to be sent.
    if (socket.timeout !== unreadTimeout) socket.setTimeout(unreadTimeout)
  }

  /** Runs what ends a connection when all its requests are answered. */
  whenAnswered(socket: Socket, end: () => void): void {
    const last = this.#pending.get(socket)?.at(-1)
    if (last === undefined || last.closed) end()
    else last.once('close', end)
  }

  /** Cuts a connection that has more than its share. */
  #cut(socket: Socket): void {
    socket.destroy()
    this.#pending.delete(socket)
    if (this.#turnsHeld === 0) this.#hold()
  }

  /**
   * Reads from nobody until the memory of a cut connection is free and all who wait for a connection have one. Node
   * reads 64 kB from each, a thousand requests and more, and parses them to the end though the connection is cut; and
   * in each turn of its loop it accepts a single connection.
   */
  #hold(): void {
    for (const socket of this.#pending.keys()) socket.pause()
    const next = (known: number) => {
      const count = this.#opened
      if (this.#turnsHeld++ < MOST_TURNS_HELD && count > known) return setImmediate(next, count)
      this.#turnsHeld = 0
      // The newest goes first, having waited behind all others.
      for (const socket of [...this.#pending.keys()].reverse()) socket.resume()
    }
    this.#turnsHeld = 1
    setImmediate(next, -1)
  }
}
