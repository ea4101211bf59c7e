import type { EpochMs, Exchange, Market, Tick } from '@kimchi/core'
import {
  binanceProtocol,
  type Connection,
  type Decoded,
  isFields,
  openConnection,
  parseFrame,
  upbitProtocol,
} from '@kimchi/feeds'
import type { Instruments } from './instruments.ts'

/** One connection of the service's own kind, with everything that it has brought. */
export class WatchedStream {
  readonly exchange: Exchange
  readonly markets: readonly Market[]
  readonly ticks: Tick[] = []
  /** Every `market_state` with how often it came. */
  readonly states = new Map<string, number>()
  readonly errors: string[] = []
  acks = 0
  malformed = 0
  firstMalformed: string | undefined
  /** When it ended, if it did. */
  endedAt: EpochMs | undefined
  readonly #connection: Connection

  /** Opens the connection. @param name of the recorded frames */
  constructor(
    base: string,
    exchange: Exchange,
    markets: readonly Market[],
    name: string,
    instruments: Instruments,
  ) {
    const { config, userAgent, recorder, context } = instruments
    const protocol =
      exchange === 'upbit' ? upbitProtocol(config.UPBIT_WS_URL) : binanceProtocol(config.BINANCE_WS_URL)
    this.exchange = exchange
    this.markets = markets
    const createDecoder = () => {
      const decoder = protocol.createDecoder()
      const decode = (frame: Buffer | string, receivedAt: EpochMs) => {
        recorder.frame(name, frame, receivedAt)
        this.#noteState(frame)
        return decoder.decode(frame, receivedAt)
      }
      return { setMarkets: (wanted: readonly Market[]) => decoder.setMarkets(wanted), decode }
    }
    const onFrame = (decoded: Decoded) => this.#note(decoded)
    this.#connection = openConnection(
      { protocol: { ...protocol, createDecoder }, base, userAgent, markets, onFrame },
      context,
    )
    void this.#connection.ended.then(() => {
      this.endedAt = context.clock.now()
    })
  }

  /** When the handshake succeeded. */
  get openedAt(): EpochMs | undefined {
    return this.#connection.openedAt
  }

  /** Resolves when the handshake has succeeded. @throws why it has not */
  async opened(): Promise<this> {
    await this.#connection.opened
    if (this.openedAt === undefined) throw (await this.#connection.ended) ?? new Error('closed')
    return this
  }

  /** Resolves when it has brought data, or its codes were refused. @throws why it ended before */
  async live(): Promise<this> {
    await this.#connection.live
    const isLive = this.ticks.some(({ origin }) => origin === 'stream')
    if (!isLive && this.errors.length === 0) throw (await this.#connection.ended) ?? new Error('closed')
    return this
  }

  renewSubscription(): void {
    this.#connection.renewSubscription()
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** Markets with a SNAPSHOT received in a span of time. */
  snapshotsIn(from: EpochMs, to: EpochMs): ReadonlySet<Market> {
    const isWithin = ({ origin, receivedAt: at }: Tick) => origin === 'snapshot' && at >= from && at < to
    return new Set(this.ticks.filter(isWithin).map(({ market }) => market))
  }

  #noteState(frame: Buffer | string): void {
    const fields = parseFrame(frame)
    const state = isFields(fields) ? (fields.market_state ?? fields.ms) : undefined
    if (typeof state === 'string') this.states.set(state, (this.states.get(state) ?? 0) + 1)
  }

  #note(decoded: Decoded): void {
    if (decoded.kind === 'ack') this.acks += 1
    else if (decoded.kind === 'error') this.errors.push(decoded.message)
    else if (decoded.kind === 'tick') this.ticks.push(decoded.tick)
    else if (decoded.kind === 'malformed') {
      this.malformed += 1
      this.firstMalformed ??= decoded.reason
    }
  }
}

/** What the doctor watches. */
export interface Streams {
  /** All codes in one subscription, as the service has it. */
  readonly upbit: WatchedStream
  /** The same codes in groups, each subscribed once: what the other may lose or have refused. */
  readonly groups: readonly WatchedStream[]
  readonly binance: WatchedStream
}

/** Codes of one group. */
const GROUP_CODES = 50

/** Opens all streams at the bases that the service would use. @throws why one cannot be opened */
export async function openStreams(
  instruments: Instruments,
  markets: Readonly<Record<Exchange, readonly Market[]>>,
): Promise<Streams> {
  const { streamBases, context } = instruments
  const open = (exchange: Exchange, of: readonly Market[], name: string, until: 'opened' | 'live') =>
    streamBases[exchange].request(base => new WatchedStream(base, exchange, of, name, instruments)[until]())
  const binance = open('binance', markets.binance, 'binance-ws', 'live')
  // Whoever waits for Upbit first must not leave a rejection without a listener.
  binance.catch(() => {})
  const upbit = await open('upbit', markets.upbit, 'upbit-ws', 'live')
  const groups: WatchedStream[] = []
  for (let start = 0; start < markets.upbit.length; start += GROUP_CODES) {
    const codes = markets.upbit.slice(start, start + GROUP_CODES)
    groups.push(await open('upbit', codes, `upbit-ws-${groups.length}`, 'opened'))
    await context.clock.wait(upbitProtocol([]).connectSpacingMs, context.signal)
  }
  return { upbit, groups, binance: await binance }
}

/** The newest price of each market that a stream has brought. */
export function lastPrices({ ticks }: WatchedStream): ReadonlyMap<Market, number> {
  return new Map(ticks.map(({ market, price }) => [market, price]))
}
