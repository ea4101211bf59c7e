import type { WebSocket } from 'ws'
import type { FaultOf } from '../faults/fault-kinds.ts'
import type { ActiveFault, FaultTarget } from '../faults/faults.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'

/** Makes bytes that are no frame from the text of one. */
const GARBAGE: Readonly<Record<FaultOf<'garbage'>['shape'], (text: string) => Buffer>> = {
  truncated: text => Buffer.from(text.slice(0, Math.ceil(text.length / 2))),
  utf8: text => Buffer.from(`${text.slice(0, 12)}\xc3\x28\xff\xfe${text.slice(12)}`, 'latin1'),
  nested: () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  noise: text => Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 197 + text.length * 31) & 0xff)),
}

/** A client of an exchange, and what the exchange does with it. */
export interface Client {
  readonly connection: Connection
  /** What it listens to: markets of Upbit, streams of Binance. */
  readonly keys: ReadonlySet<string>
  /** Writes a frame in the form that the client asked for. */
  textOf(frame: object): string
  message(text: string): void
  /** Called when the client sends a WebSocket ping. */
  pinged?(): void
  /** Carries out what else is due by an instant, such as the end of an idle connection. */
  obey(at: EpochMs): void
}

export interface DueFrame {
  readonly at: EpochMs
  /** What it says of when it happened: Upbit's trade may have been made long before. */
  readonly eventAt: EpochMs
  readonly market: string
  /** Called once, in time order over all frames: a fault may alter the next frame alone. */
  make(): object
}

/** One exchange's side of the connections to it. */
export interface ExchangeStream {
  /** Takes over an open connection. @param url of the handshake */
  open(connection: Connection, url: URL): Client
  /** The frames of a market or stream that are due in [from, to). */
  due(key: string, from: EpochMs, to: EpochMs): readonly DueFrame[]
}

/** One open WebSocket of a client; every frame passes the faults and is reported. */
export class Connection {
  readonly exchange: Exchange
  readonly number: number
  readonly #exchanges: SimulatedExchanges
  readonly #socket: WebSocket
  /** The faults that were set before it was opened: none of them makes it half-open. */
  readonly #older: readonly ActiveFault[]
  /** Frames that come when a silence ends. */
  #held: { silence: ActiveFault; text: string; market: string }[] = []

  constructor(exchanges: SimulatedExchanges, exchange: Exchange, number: number, socket: WebSocket) {
    this.#exchanges = exchanges
    this.exchange = exchange
    this.number = number
    this.#socket = socket
    this.#older = exchanges.faults.list()
  }

  /** Sends one frame of a stream, as far as the faults let it. */
  stream(text: string, market: string, at: EpochMs): void {
    this.#sendHeld(at)
    const target = { exchange: this.exchange, market, at }
    const silence = this.#exchanges.faults.find('silence', target)
    if (silence?.fault.delivery === 'late') this.#held.push({ silence, text, market })
    if (!silence && !this.#isHalfOpen(at)) this.#send(text, target)
  }

  /** Sends a reply or an error, which only a half-open connection holds back. */
  reply(message: object): void {
    if (!this.#isHalfOpen(this.#exchanges.clock.now())) this.#write(JSON.stringify(message))
  }

  /** Does what faults want of the connection itself at an instant. */
  obey(at: EpochMs): void {
    this.#sendHeld(at)
    if (this.#isHalfOpen(at)) this.#socket.pause()
    else if (this.#socket.isPaused) this.#socket.resume()
    if (this.#exchanges.faults.find('drop', { exchange: this.exchange, at })) this.close()
  }

  /** Closes with a close frame, or cuts the socket when `code` is left out. */
  close(code?: number, reason = ''): void {
    if (code === undefined || this.#socket.isPaused) this.#socket.terminate()
    else this.#socket.close(code, reason)
  }

  #isHalfOpen(at: EpochMs): boolean {
    const target = { exchange: this.exchange, at }
    const isNew = (active: ActiveFault) => !this.#older.includes(active)
    return this.#exchanges.faults.find('half-open', target, isNew) !== undefined
  }

  #sendHeld(at: EpochMs): void {
    const due = this.#held.filter(({ silence }) => silence.to <= at)
    this.#held = this.#held.filter(({ silence }) => silence.to > at)
    for (const { text, market } of due) this.#send(text, { exchange: this.exchange, market, at })
  }

  #send(text: string, target: FaultTarget): void {
    const garbage = this.#exchanges.faults.find('garbage', target)
    this.#write(garbage ? GARBAGE[garbage.fault.shape](text) : text)
  }

  #write(payload: string | Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    // Upbit sends binary frames, Binance text.
    this.#socket.send(payload, { binary: this.exchange === 'upbit' })
    const { exchange, number: connection } = this
    this.#exchanges.onFrame({ exchange, connection, text: payload.toString('latin1') })
  }
}

/** Sends clients all that is due in [from, to), in time order. */
export function pumpStream(
  stream: ExchangeStream,
  clients: ReadonlySet<Client>,
  from: EpochMs,
  to: EpochMs,
): void {
  const byKey = new Map<string, Client[]>()
  for (const client of clients) {
    for (const key of client.keys) byKey.set(key, [...(byKey.get(key) ?? []), client])
  }
  const due = [...byKey].flatMap(([key, listeners]) =>
    stream.due(key, from, to).map(frame => ({ frame, listeners })),
  )
  for (const { frame, listeners } of due.sort((a, b) => a.frame.at - b.frame.at)) {
    const made = frame.make()
    for (const client of listeners) client.connection.stream(client.textOf(made), frame.market, frame.at)
  }
}
