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
     * From the first byte of a request, or from connecting, to the last of its headers. In a flood a caller waits
     * for seconds until anything is read of it (docs/faults.md, 67), and must not get a 408 for that.
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

/** Connections that are read again in a turn of Node's loop, of all that are held. */
const READ_IN_A_TURN = 4

/** Cuts connections, so that memory stays bounded whatever clients ask for and don't read. */
export class Connections {
  readonly #limits: typeof LIMITS
  /** The responses of each that are not sent yet, oldest first. */
  readonly #pending = new Map<Socket, ServerResponse[]>()
  /** Those that are not read for now, the newest last; undefined while all are. */
  #held: Socket[] | undefined

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** Notes a connection, before its first request. */
  open(socket: Socket): void {
    this.#pending.set(socket, [])
    if (this.#held !== undefined) {
      this.#held.push(socket)
      // Not before Node has begun to read.
      process.nextTick(() => socket.pause())
    }
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

  /**
   * Cuts a connection that has more than its share, and stops reading from all others until this turn of Node's loop
   * is over: Node parses all of the 64 kB that it reads of a connection, thousands of requests, and frees their memory
   * only when it has closed the connection. Then a few are read in each turn, the newest first.
   */
  #cut(socket: Socket): void {
    socket.destroy()
    this.#pending.delete(socket)
    const isHolding = this.#held !== undefined
    this.#held = [...this.#pending.keys()]
    for (const other of this.#held) other.pause()
    if (!isHolding) setImmediate(() => this.#readSome())
  }

  #readSome(): void {
    for (const socket of this.#held?.splice(-READ_IN_A_TURN) ?? []) socket.resume()
    if (this.#held?.length === 0) this.#held = undefined
    else setImmediate(() => this.#readSome())
  }
}
