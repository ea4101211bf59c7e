import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Limits that keep clients from slowing down others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  connections: 5_000,
  /** For a client that reads nothing: its connection is cut after 22.5 to 45 s. */
  unreadTimeout: 22_500,
  /** Requests that are not answered yet, on all connections, besides one for each of these; each takes 4 kB. */
  pipelined: 4_000,
  server: {
    /** Request line and headers together. */
    maxHeaderSize: 8_192,
    /** From the first byte of a request, or from connecting, to the last of its headers. */
    headersTimeout: 5_000,
    /** Until the end of a request's body, which nothing reads. */
    requestTimeout: 10_000,
    /** Longer than the usual 60 s of a proxy in front, so that it is the proxy that closes. */
    keepAliveTimeout: 65_000,
    /** How often Node looks for requests that are late. */
    connectionsCheckingInterval: 1_000,
    /** The app checks it, because Node's own refusal is neither JSON nor readable by a page. */
    requireHostHeader: false,
    /** Creates no stream for a body that no header announces. Node ignores it before 24.12. */
    optimizeEmptyRequests: true,
  },
}

/** Cuts connections, so that memory stays bounded whatever clients ask for and don't read. */
export class Connections {
  readonly #limits: typeof LIMITS
  /** The responses of each that are not sent yet, oldest first. */
  readonly #pending = new Map<Socket, ServerResponse[]>()
  /** How many those are in all. */
  #waiting = 0

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** Notes a connection, before its first request. */
  open(socket: Socket): void {
    this.#pending.set(socket, [])
    socket.once('close', () => this.#forget(socket))
  }

  /** Notes a request; false when its connection was cut, so that nobody waits for a response. */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const responses = this.#pending.get(socket)
    if (responses === undefined) return false
    this.#forgetSent(responses)
    this.#waiting += 1
    if (responses.push(response) > 1) {
      this.cutUnlessRead(socket)
      if (this.#isFlooded()) this.#cutLongest()
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

  #isFlooded(): boolean {
    return this.#waiting - this.#pending.size > this.#limits.pipelined
  }

  #forgetSent(responses: ServerResponse[]): void {
    while (responses[0]?.closed) {
      responses.shift()
      this.#waiting -= 1
    }
  }

  #forget(socket: Socket): void {
    this.#waiting -= this.#pending.get(socket)?.length ?? 0
    this.#pending.delete(socket)
  }

  /** Cuts the connection with the most requests, and reads from no other until its memory is free. */
  #cutLongest(): void {
    for (const responses of this.#pending.values()) this.#forgetSent(responses)
    if (!this.#isFlooded()) return
    const [longest] = [...this.#pending].reduce((a, b) => (b[1].length > a[1].length ? b : a))
    longest.destroy()
    this.#forget(longest)
    // Node would read 64 kB from each before anyone is answered: a thousand requests.
    // The newest goes first, having waited behind all others.
    const others = [...this.#pending.keys()].reverse()
    for (const socket of others) socket.pause()
    setImmediate(() => {
      for (const socket of others) socket.resume()
    })
  }
}
