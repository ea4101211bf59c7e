import type { Context, EpochMs, Market, Milliseconds, Tick } from '@kimchi/core'
import { Connection, type Decoded, isFields, type Protocol, parseFrame } from '@kimchi/feeds'

/** What a stream is watched with. */
export interface WatchOptions {
  readonly protocol: Protocol
  readonly base: string
  readonly userAgent: string
  readonly markets: readonly Market[]
  readonly onTick?: (tick: Tick) => void
  readonly onRaw?: (frame: Buffer | string, receivedAt: EpochMs) => void
}

/** One connection of the service's own kind, with everything that it has brought. */
export class WatchedStream {
  readonly connection: Connection
  readonly markets: readonly Market[]
  readonly ticks: Tick[] = []
  /** Every `market_state` with how often it came. */
  readonly states = new Map<string, number>()
  /** Upbit's ticker frames in short and in full names. */
  readonly formats = { SIMPLE: 0, DEFAULT: 0 }
  acks = 0
  readonly complaints: string[] = []
  readonly #onTick: (tick: Tick) => void

  constructor(options: WatchOptions, context: Pick<Context, 'clock' | 'random'>) {
    const { protocol, base, userAgent, markets, onTick = () => {}, onRaw = () => {} } = options
    this.markets = markets
    this.#onTick = onTick
    const createDecoder = () => {
      const decoder = protocol.createDecoder()
      const decode = (frame: Buffer | string, receivedAt: EpochMs) => {
        onRaw(frame, receivedAt)
        this.#noteRaw(frame)
        return decoder.decode(frame, receivedAt)
      }
      return { setMarkets: (wanted: readonly Market[]) => decoder.setMarkets(wanted), decode }
    }
    const onFrame = (decoded: Decoded) => this.#note(decoded)
    this.connection = new Connection(
      { protocol: { ...protocol, createDecoder }, base, userAgent, markets, onFrame },
      context,
    )
  }

  /** How long it was open until an instant, or until it ended. */
  openFor(until: EpochMs): Milliseconds {
    const { openedAt = until, ending } = this.connection.state
    return Math.min(ending?.lostAt ?? until, until) - openedAt
  }

  /** Markets with a SNAPSHOT received in a span of time. */
  snapshotsIn(from: EpochMs, to: EpochMs): ReadonlySet<Market> {
    const snapshots = this.ticks.filter(({ origin }) => origin === 'snapshot')
    return new Set(
      snapshots.filter(({ receivedAt: at }) => at >= from && at < to).map(({ market }) => market),
    )
  }

  #noteRaw(frame: Buffer | string): void {
    const fields = parseFrame(frame)
    if (!isFields(fields)) return
    if (fields.ty === 'ticker') this.formats.SIMPLE += 1
    if (fields.type === 'ticker') this.formats.DEFAULT += 1
    const state = fields.ms ?? fields.market_state
    if (typeof state === 'string') this.states.set(state, (this.states.get(state) ?? 0) + 1)
  }

  #note(decoded: Decoded): void {
    if (decoded.kind === 'ack') this.acks += 1
    else if (decoded.kind === 'error') this.complaints.push(decoded.message)
    else if (decoded.kind === 'malformed') this.complaints.push(decoded.reason)
    else if (decoded.kind === 'tick') {
      this.ticks.push(decoded.tick)
      this.#onTick(decoded.tick)
    }
  }
}
