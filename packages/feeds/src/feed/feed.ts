import {
  type Context,
  type EpochMs,
  type Exchange,
  type LatestTicks,
  type Market,
  MINUTE_MS,
  type Milliseconds,
  type Tick,
} from '@kimchi/core'
import type { Door, StreamOptions } from '../door/door.ts'
import type { Asked } from '../http.ts'
import type { RestClient } from '../rest/client.ts'
import type { Connection } from './connection.ts'
import { SubscriptionRefused } from './connection-errors.ts'
import { FeedCounters, type FeedState } from './feed-counters.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { Renewals } from './renewals.ts'
import { subscribedMarkets } from './subscribed-markets.ts'
import { type Answer, TradingStatus } from './trading-status.ts'

/** Where in a minute a planned successor is opened, so that its first prices are there before the minute ends. */
const SUCCESSOR_FROM_MS: Milliseconds = 10_000
const SUCCESSOR_UNTIL_MS: Milliseconds = 40_000

export type FeedStatus = ReturnType<Feed['status']>

/** What a feed is opened with. Callbacks run synchronously and must not throw. */
export interface FeedOptions {
  readonly protocol: Protocol
  readonly door: Pick<Door, 'isClosed' | 'openStream' | 'status'>
  /** The exchange's own codes; the feed adds those that it always subscribes to. */
  readonly markets: readonly Market[]
  /**
   * Gets each tick straight from the socket, and what the feed learns besides. No async iterator: at thousands of frames
   * a second a promise per tick costs more than its decoding.
   */
  readonly sink: Pick<LatestTicks, 'record' | 'miss' | 'setTradable' | 'forget'>
  /** The exchange refused the subscription: the lists may have changed. */
  readonly onRefused?: () => void
  /**
   * Fetches the prices with which a stream begins, and once a minute the markets that trade.
   * @default the feed sends the subscription again, whose snapshots show both
   */
  readonly fetchTradingPrices?: RestClient['fetchTradingPrices']
}

export function openFeed(options: FeedOptions, context: Omit<Context, 'signal'>): Feed {
  const feed = new Feed(options, context)
  feed.open()
  return feed
}

/**
 * One exchange's ticks, from when it is opened until it is closed, over one connection after another: the successor of
 * one that is due is opened before that ends. From the first data frame of a newer connection on, only that one is read.
 * @see docs/architecture.md#ingester
 */
export class Feed {
  readonly #options: Omit<FeedOptions, 'markets'>
  readonly #exchange: Exchange
  readonly #context: Context
  readonly #stop = new AbortController()
  readonly #counters: FeedCounters
  readonly #connections = new Set<Connection>()
  readonly #tradingStatus: TradingStatus
  readonly #renewals = new Renewals()
  #running: Promise<void> | undefined
  #markets: readonly Market[]
  /** The connection whose data is read. */
  #reading: Connection | undefined
  /** The last successor whose subscription was acknowledged before its data was read. */
  #acknowledged: Connection | undefined
  /** When the last data frame came, on whichever connection. */
  #lastDataAt: EpochMs | undefined

  constructor({ markets, ...options }: FeedOptions, given: Omit<Context, 'signal'>) {
    const { protocol, sink, fetchTradingPrices } = options
    const context = { ...given, signal: this.#stop.signal }
    this.#options = options
    this.#exchange = protocol.exchange
    this.#context = context
    this.#markets = subscribedMarkets(this.#exchange, markets)
    this.#counters = new FeedCounters(this.#exchange, context)
    const ask = async () => {
      if (fetchTradingPrices === undefined) return this.#renew()
      const answer = await fetchTradingPrices(context.signal)
      return { ...answer, markets: this.#markets }
    }
    this.#tradingStatus = new TradingStatus(
      { exchange: this.#exchange, counters: this.#counters, ask, sink },
      context,
    )
  }

  /** Connects, and stays connected until {@link close}. */
  open(): void {
    void this.#tradingStatus.run()
    this.#running = this.#run()
  }

  /** Changes what is subscribed: the next connection takes over within a minute, and is opened first. */
  setMarkets(markets: readonly Market[]): void {
    const next = subscribedMarkets(this.#exchange, markets)
    if (next.join() === this.#markets.join()) return
    this.#markets = next
    for (const connection of this.#connections) connection.retire()
  }

  /** How the feed is doing, for /ready, /metrics and the status hash. */
  status() {
    return {
      exchange: this.#exchange,
      state: this.#state,
      base: this.#options.door.status().stream,
      lastDataAt: this.#lastDataAt,
      /** When we last learnt which markets trade; when the feed was opened, before the first answer. */
      statusAt: this.#tradingStatus.answeredAt,
      ...this.#counters,
    }
  }

  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#closeOthers()
    await this.#running
  }

  get #state(): FeedState {
    if (this.#stop.signal.aborted) return 'closed'
    if (this.#reading?.signal.aborted === false) return 'up'
    const { held, waiting } = this.#options.door.status().stream
    if (held?.isBlocked) return 'blocked'
    return held !== undefined || waiting > 0 ? 'waiting' : 'connecting'
  }

  #receive(decoded: Decoded, connection: Connection): void {
    const isSuccessor = connection !== this.#reading && this.#reading?.signal.aborted === false
    if (decoded.kind === 'tick') this.#receiveTick(decoded.tick, connection)
    else if (decoded.kind === 'malformed') this.#miss(decoded, connection)
    // From now on a frame follows each trade; a successor may break before it is read.
    else if (decoded.kind === 'ack' && isSuccessor) this.#acknowledged = connection
    else if (decoded.kind === 'ack') this.#tradingStatus.seed(connection.markets)
  }

  /**
   * Counts what can't be read. The market's price is unknown then, and every one's where the frame doesn't say whose it
   * is; the next answer of the exchange will have it.
   */
  #miss({ reason, market }: Decoded & { readonly kind: 'malformed' }, { markets }: Connection): void {
    const [exchange, now] = [this.#exchange, this.#context.clock.now()]
    this.#counters.countMalformed(reason)
    this.#options.sink.miss(exchange, market, now)
    if (market === undefined) this.#renewals.interrupted()
    else this.#renewals.hear(market, false, undefined)
    this.#tradingStatus.seedNext(market === undefined ? markets : [market])
  }

  #receiveTick(tick: Tick, connection: Connection): void {
    const isData = tick.origin === 'stream'
    const isOther = isData && connection !== this.#reading
    const openedAt = isOther ? connection.openedAt : undefined
    const interruption = this.#options.sink.record(tick, { lastAt: this.#lastDataAt, openedAt })
    if (isData) this.#lastDataAt = tick.receivedAt
    else this.#tradingStatus.answeredAt = tick.receivedAt
    if (isOther) this.#read(connection, tick.receivedAt)
    if (interruption !== undefined) {
      this.#renewals.interrupted()
      if (interruption.isSilence) this.#counters.silences += 1
      // A new connection of Upbit begins with snapshots, and one of Binance with seeds.
      if (interruption.isSeedWanted) this.#tradingStatus.seed(connection.markets)
    } else if (isData) this.#renewals.wholeUntil(tick.receivedAt)
    this.#renewals.hear(tick.market, tick.origin === 'snapshot', tick.tradable)
  }

  /** Sends the subscription again; returns the answer to the renewal before, if there is one. */
  #renew(): Answer | undefined {
    const { clock } = this.#context
    const asked: Asked = { at: clock.now(), elapsed: clock.elapsed() }
    if (this.#reading?.signal.aborted === false) this.#reading.subscribe()
    return this.#renewals.renew(asked, this.#reading?.markets ?? [])
  }

  /** Reads this connection from now on, and closes all others. */
  #read(connection: Connection, receivedAt: EpochMs): void {
    const { fetchTradingPrices, sink } = this.#options
    const before = this.#reading
    this.#reading = connection
    if (before?.signal.aborted === true) {
      this.#counters.reconnects += 1
      this.#forget(before)
    } else if (before && fetchTradingPrices)
      // Its frames that are still on their way are lost. On Upbit the new one's SNAPSHOTs showed them.
      sink.miss(this.#exchange, undefined, receivedAt)
    if (this.#acknowledged === connection) this.#tradingStatus.seed(connection.markets)
    void this.#closeOthers(connection)
  }

  /** Connects again and again, until the feed or its door is closed. */
  async #run(): Promise<void> {
    const { clock, log, signal } = this.#context
    const { door, protocol } = this.#options
    const stream: StreamOptions = {
      protocol,
      markets: () => this.#markets,
      onFrame: (decoded, connection) => this.#receive(decoded, connection),
      onAttempt: connection => {
        this.#connections.add(connection)
        connection.signal.addEventListener('abort', () => this.#noteEnd(connection), { once: true })
      },
    }
    while (!signal.aborted && !door.isClosed) {
      // The door tells of what fails, and waits before the next one.
      const opened = await door.openStream(stream, { signal }).catch(() => undefined)
      if (opened === undefined) continue
      const { connection, over } = opened
      log.info({ exchange: this.#exchange, markets: this.#markets.length }, 'feed is up')
      await over
      if (!connection.signal.aborted) await clock.wait(untilSuccessor(clock.now()), connection.signal)
    }
  }

  #noteEnd(connection: Connection): void {
    const { error } = connection
    void connection.close().then(() => this.#connections.delete(connection))
    if (connection !== this.#reading) this.#forget(connection)
    if (error === undefined) return
    if (error instanceof SubscriptionRefused) this.#options.onRefused?.()
    if (error.code === 'KIMCHI_ERR_FRAME') this.#counters.countMalformed(error)
    else this.#counters.remember(error)
  }

  /** Forgets the markets that the connection which is read lacks: nobody hears their next trade. */
  #forget({ markets }: Connection): void {
    const lost = markets.filter(market => !this.#reading?.markets.includes(market))
    for (const market of lost) this.#options.sink.forget(this.#exchange, market)
  }

  /** Closes all connections but this one. Resolves when their sockets are closed. */
  async #closeOthers(kept?: Connection): Promise<void> {
    const others = [...this.#connections].filter(connection => connection !== kept)
    await Promise.all(others.map(connection => connection.close()))
  }
}

/** How long a planned successor waits, so that it costs no minute. */
function untilSuccessor(now: EpochMs): Milliseconds {
  const second = now % MINUTE_MS
  if (second >= SUCCESSOR_FROM_MS && second < SUCCESSOR_UNTIL_MS) return 0
  return (SUCCESSOR_FROM_MS - second + MINUTE_MS) % MINUTE_MS
}
