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
const MOST_AWAITED = 511

/** Connections that are read again in a turn of Node's loop, of all that are held. */
const READ_IN_A_TURN = 16

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

  /** Cuts a connection that has more than its share. */
  #cut(socket: Socket): void {
    socket.destroy()
    leaveUnparsed(socket)
    this.#pending.delete(socket)
    if (this.#held === undefined) this.#hold()
  }

  /**
   * Stops reading from all until all who wait for a connection have one, and with it their share: in each turn of its
   * loop Node accepts a single one. Then it reads a few at a time, so that the memory of those that are cut is free
   * before others are read. The newest go first, having waited behind all others.
   */
  #hold(): void {
    const held = [...this.#pending.keys()]
    this.#held = held
    for (const socket of held) socket.pause()
    const readSome = () => {
      for (const socket of held.splice(-READ_IN_A_TURN)) socket.resume()
      if (held.length > 0) setImmediate(readSome)
      else this.#held = undefined
    }
    const most = held.length + MOST_AWAITED
    const readWhenAllHaveOne = (before: number) => {
      if (held.length > before && held.length < most) setImmediate(readWhenAllHaveOne, held.length)
      else readSome()
    }
    setImmediate(readWhenAllHaveOne, -1)
  }
}

/**
 * Has Node's parser stop after this request, as after an upgrade. It would parse all of the 64 kB that it has read,
 * thousands of requests, though the connection is cut: in a second flood of 1,000 connections others waited 11 s, and
 * wait 2 s at most. `parser` is not documented; without it all is parsed.
 * @see https://github.com/nodejs/node/blob/main/lib/_http_common.js
 */
function leaveUnparsed(socket: Socket & { readonly parser?: { onIncoming: unknown } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 2
}
