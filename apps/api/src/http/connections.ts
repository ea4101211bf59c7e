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
     * From the first byte of a request, or from connecting, to the last of its headers. In a flood a caller waits for
     * up to 10 s of processor time until anything is read of it (docs/faults.md, 67), and must not get a 408 for that.
     */
    headersTimeout: 20_000,
    /** Until the end of a request's body, which nothing reads. */
    requestTimeout: 20_000,
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

/** Cuts connections, so that memory stays bounded whatever clients ask for and don't read. */
export class Connections {
  readonly #limits: typeof LIMITS
  /** The responses of each that are not sent yet, oldest first. */
  readonly #pending = new Map<Socket, ServerResponse[]>()
  /** Connections that wait to be read, oldest first: those that were answered before, and all others. */
  readonly #answered = new Set<Socket>()
  readonly #others = new Set<Socket>()
  #turns = 0
  #nextTurn: NodeJS.Immediate | undefined

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** Notes a connection, before its first request. */
  open(socket: Socket): void {
    this.#pending.set(socket, [])
    // Not before Node has begun to read.
    if (this.#nextTurn) process.nextTick(() => this.#wait(socket))
    socket.once('close', () => this.#forget(socket))
  }

  /** Handles a request when all before it on its connection are answered: whoever is cut first costs nothing more. */
  begin({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const responses = this.#pending.get(socket)
    if (responses === undefined) return
    while (responses[0]?.closed) responses.shift()
    const last = responses.at(-1)
    const unanswered = responses.push(response)
    if (last === undefined) handle()
    else {
      last.once('close', () => socket.writable && handle())
      this.cutUnlessRead(socket)
      if (unanswered > 1 + this.#limits.pipelined / this.#pending.size) this.#cut(socket)
    }
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
   * Cuts a connection that has more than its share, and has all others wait for their turn, as Node parses all of the
   * 64 kB that it reads of a connection, a thousand requests, and frees their memory only when it has closed it.
   */
  #cut(socket: Socket): void {
    // When a connection closes, Node creates an error for each of its requests. Their stacks would double the cost.
    const { stackTraceLimit } = Error
    socket.prependOnceListener('close', () => {
      Error.stackTraceLimit = 0
    })
    socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit
    })
    socket.destroy()
    this.#forget(socket)
    for (const other of this.#pending.keys()) this.#wait(other)
  }

  #wait(socket: Socket): void {
    socket.pause()
    if (this.#answered.has(socket) || this.#others.has(socket)) return
    if (socket.bytesWritten > 0) this.#answered.add(socket)
    else this.#others.add(socket)
    this.#nextTurn ??= setImmediate(() => this.#readNext())
  }

  /**
   * Reads one in each turn of Node's loop. Those that were answered before don't wait for newcomers. Of these mostly the
   * newest are read, as a flood may have come before a caller, but the first as well, as it may go on coming after it.
   */
  #readNext(): void {
    const [answered] = this.#answered
    const others = [...this.#others]
    const newest = others.at(-1)
    const candidates = [answered, newest, newest, newest, others[0]]
    const next = candidates[this.#turns % candidates.length] ?? answered ?? others[0]
    this.#turns += 1
    this.#nextTurn = next && setImmediate(() => this.#readNext())
    next?.resume()
    if (next) this.#leave(next)
  }

  #forget(socket: Socket): void {
    this.#pending.delete(socket)
    this.#leave(socket)
  }

  #leave(socket: Socket): void {
    this.#answered.delete(socket)
    this.#others.delete(socket)
  }
}
