import { type IncomingMessage, type RequestListener, Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Limits that keep clients from slowing down others. Durations in milliseconds, sizes in bytes. */
export const LIMITS = {
  connections: 5_000,
  /** For a client that reads nothing while it is owed an answer: its connection is cut after 22.5 to 45 s. */
  unreadTimeout: 22_500,
  /** Requests that are not answered yet, besides one for each connection, which share them; each takes 4 kB. */
  pipelined: 4_000,
  /** Requests in what is read first of a connection: so many of each, and twenty times as many that all share. */
  begun: 100,
  server: {
    /** Request line and headers together. */
    maxHeaderSize: 8_192,
    /**
     * For the first byte after connecting, and then for the last byte of the headers. In a flood a caller may wait for
     * up to 10 s of processor time until more is read of it (docs/faults.md, 67), and must not get a 408 for that.
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

/** Turns of Node's loop in which a flood is not read, after one in which it is. */
const TURNS_BETWEEN = 32

/** Ends the headers of a request. */
const END_OF_HEADERS = '\r\n\r\n'

/** After such a header come bytes that are no requests, which cost Node nothing. */
const ANNOUNCES_BODY = /^(?:content-length: *0*[1-9]|transfer-encoding:)/im

/** Cuts connections, so that memory stays bounded whatever clients ask for and don't read. */
export class Connections {
  readonly #limits: typeof LIMITS
  /** The responses of each that are not sent yet, oldest first. */
  readonly #pending = new Map<Socket, ServerResponse[]>()
  /** Connections that wait to be read. */
  readonly #waiting = new Set<Socket>()
  /** The one whose turn it is. */
  #reading: Socket | undefined
  #turns = 0
  #nextTurn: NodeJS.Immediate | undefined

  constructor(limits: typeof LIMITS) {
    this.#limits = limits
  }

  /** A server of which these are the connections. Does not listen. */
  createServer(handle: RequestListener): Server {
    const begin: RequestListener = (request, response) =>
      this.#begin(request, response, () => handle(request, response))
    const server = new Server(this.#limits.server)
    server.maxConnections = this.#limits.connections
    server.timeout = this.#limits.unreadTimeout
    // Node serves whatever is emitted as a connection: https://nodejs.org/api/http.html#event-connection
    const emit = server.emit.bind(server)
    server.emit = (event: string, ...args: unknown[]) => {
      if (event !== 'connection') return emit(event, ...args)
      this.#open(args[0] as Socket, socket => emit('connection', socket))
      return true
    }
    // Node would answer an Expect that it doesn't know itself, past every limit.
    return server.on('request', begin).on('checkExpectation', begin)
  }

  /**
   * Has Node serve a new connection when it has begun as a caller's does. Node parses all that it reads, and then creates
   * an error for each request of a connection that is cut: in a flood of 1,000 others would wait a hundred times longer.
   */
  #open(socket: Socket, serve: (socket: Socket) => void): void {
    const cut = () => socket.destroy()
    this.#pending.set(socket, [])
    socket.once('close', () => this.#forget(socket))
    socket.on('error', cut).on('end', cut).setTimeout(this.#limits.server.headersTimeout, cut)
    socket.once('data', (begun: Buffer) => {
      socket.off('end', cut).off('timeout', cut).setTimeout(0)
      socket.pause()
      const most = this.#limits.begun * (1 + 20 / this.#pending.size)
      const [head = '', ...others] = begun.toString('latin1').split(END_OF_HEADERS)
      if (others.length > most && !ANNOUNCES_BODY.test(head)) return cut()
      serve(socket)
      socket.unshift(begun)
      socket.resume()
    })
  }

  /** Handles a request when all before it on its connection are answered: whoever is cut first costs nothing more. */
  #begin({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const responses = this.#pending.get(socket)
    if (responses === undefined) return
    while (responses[0]?.closed) responses.shift()
    const last = responses.at(-1)
    const unanswered = responses.push(response)
    if (last === undefined) handle()
    else {
      last.once('close', () => socket.writable && handle())
      if (unanswered > 1 + this.#limits.pipelined / this.#pending.size) this.#cut(socket)
    }
  }

  /** Calls `end`, which ends the connection, once all its requests are answered. */
  whenAnswered(socket: Socket, end: () => void): void {
    const last = this.#pending.get(socket)?.at(-1)
    if (last === undefined || last.closed) end()
    else last.once('close', end)
  }

  /** Cuts all, also those that have said nothing yet, of which Node does not know. */
  closeAll(): void {
    for (const socket of this.#pending.keys()) socket.destroy()
  }

  /** Cuts a connection that has more than its share, and has all others wait for their turn. */
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
    for (const other of this.#pending.keys())
      if (other.bytesWritten > 0 && other !== this.#reading) this.#waiting.add(other.pause())
    this.#nextTurn ??= setImmediate(() => this.#readNext())
  }

  /**
   * Reads one at a time: the one that was sent most, as a flood has had few answers, and of several the oldest, as a
   * flood comes again when it is cut. In between Node's loop turns so often that new callers are answered, as it accepts
   * one. A connection may be read until the next one's turn, so that its bytes come however many others are cut.
   */
  #readNext(): void {
    this.#turns += 1
    this.#nextTurn = this.#waiting.size > 0 ? setImmediate(() => this.#readNext()) : undefined
    if (this.#turns % TURNS_BETWEEN > 0) return
    this.#reading = undefined
    for (const socket of this.#pending.keys()) {
      const isNext = this.#waiting.has(socket) && socket.bytesWritten > (this.#reading?.bytesWritten ?? 0)
      if (isNext) this.#reading = socket
    }
    if (this.#reading !== undefined) this.#waiting.delete(this.#reading.resume())
  }

  #forget(socket: Socket): void {
    this.#pending.delete(socket)
    this.#waiting.delete(socket)
  }
}
