import { setMaxListeners } from 'node:events'
import {
  type Context,
  type EpochMs,
  type Exchange,
  type Interruption,
  KimchiError,
  type Market,
  type Milliseconds,
  messageOf,
  PACEMAKERS,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Tick,
} from '@kimchi/core'
import { Bases } from '../bases.ts'
import { NAME } from '../http.ts'
import type { Connection } from './connection.ts'
import { ConnectionLoop } from './connection-loop.ts'
import { FeedCounters, type FeedStatus } from './feed-status.ts'
import { MarketSearch } from './market-search.ts'
import type { Decoded, Protocol } from './protocol.ts'
import { type TradingPrices, TradingStatus } from './trading-status.ts'

/** What a feed is opened with. Callbacks run synchronously and must not throw. */
export interface FeedOptions {
  readonly protocol: Protocol
  /** Our name in the handshake. @default without version and address */
  readonly userAgent?: string
  /** The exchange's own codes; the feed adds the reference markets and the pacemakers. */
  readonly markets: readonly Market[]
  /**
   * Called with each tick, straight from the socket. A callback and not an async iterator: at thousands of
   * frames a second a promise per tick costs more than its decoding.
   */
  readonly onTick: (tick: Tick) => void
  /** Frames may have been lost; called before the first tick after it. */
  readonly onInterrupted: (interruption: Interruption) => void
  /** A status without a tick shows whether a market trades. `askedAt` is when the exchange was asked for it. */
  readonly onTradable: (exchange: Exchange, market: Market, tradable: boolean, askedAt: EpochMs) => void
  /** The exchange refused the subscription because of a market in it: the lists may have changed. */
  readonly onRefusedMarkets?: () => void
  /**
   * Asks the exchange for the prices with which a stream begins, and once a minute for the markets that trade.
   * Rejects on any failure, and when aborted.
   * @default the feed sends the subscription again, whose snapshots show both
   */
  readonly askTradingPrices?: (signal: AbortSignal) => Promise<TradingPrices>
}

/** What a feed gets from the outside. */
export type FeedContext = Pick<Context, 'clock' | 'random' | 'log'>

/**
 * Opens the feed of one exchange.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when there are more markets than one connection allows
 */
export function openFeed(options: FeedOptions, context: FeedContext): Feed {
  return new Feed(options, context)
}

/** A longer silence may have swallowed frames. */
const MAX_QUIET_MS: Milliseconds = 3_000

/**
 * One exchange's ticks, from when it is opened until it is closed. {@link ConnectionLoop} keeps the frames
 * coming; the feed turns them into ticks, reports when some may have been lost, and asks once a minute which
 * markets trade.
 * @see docs/architecture.md#ingester
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #exchange: Exchange
  readonly #context: Context
  readonly #stop = new AbortController()
  readonly #counters: FeedCounters
  readonly #bases: Bases
  readonly #search: MarketSearch
  readonly #tradingStatus: TradingStatus
  readonly #loop: ConnectionLoop
  readonly #unknownStates = new Set<string>()
  #markets: readonly Market[]
  #lastDataAt: EpochMs | undefined
  /** While no data comes: until when nothing was lost, -Infinity before the first. Undefined while it comes. */
  #brokenAt: EpochMs | undefined = Number.NEGATIVE_INFINITY

  constructor(options: FeedOptions, context: FeedContext) {
    const { protocol, userAgent = NAME, onTradable, onRefusedMarkets = () => {} } = options
    const { exchange } = protocol
    this.#options = options
    this.#exchange = exchange
    this.#context = { ...context, signal: this.#stop.signal }
    // Each connection of the budget listens to it: more than Node expects, and bounded.
    setMaxListeners(100, this.#stop.signal)
    this.#markets = withStandingMarkets(protocol, options.markets)
    this.#counters = new FeedCounters(exchange, context)
    this.#bases = new Bases(exchange, 'stream', protocol.bases, context)
    this.#search = new MarketSearch(this.#markets, RATE_MARKET)
    this.#tradingStatus = new TradingStatus(
      {
        exchange,
        markets: () => this.#markets,
        ask: options.askTradingPrices ?? (async () => this.#renewSubscription()),
        onSeed: seed => this.#emit(seed),
        onTradable,
        onFailure: cause => this.#noteStatusFailure(cause),
      },
      this.#context,
    )
    this.#loop = new ConnectionLoop(
      {
        protocol,
        userAgent,
        bases: this.#bases,
        search: this.#search,
        counters: this.#counters,
        onFrame: (decoded, connection) => this.#receive(decoded, connection),
        onBroken: lostAt => {
          this.#brokenAt = lostAt
        },
        onRefusedMarkets,
      },
      this.#context,
    )
  }

  /** Changes what is subscribed, without a reconnect. Forgotten markets give no more ticks. */
  setMarkets(markets: readonly Market[]): void {
    const known = new Set(this.#markets)
    this.#markets = withStandingMarkets(this.#options.protocol, markets)
    this.#search.want(this.#markets)
    this.#loop.resubscribe()
    const added = this.#markets.filter(market => !known.has(market))
    if (added.length > 0 && this.#options.askTradingPrices !== undefined) this.#tradingStatus.seed(added)
  }

  status(): FeedStatus {
    return {
      exchange: this.#exchange,
      state: this.#loop.state,
      base: this.#bases.status(),
      refusedMarkets: this.#search.refused,
      lastDataAt: this.#lastDataAt,
      statusAt: this.#tradingStatus.answeredAt,
      markets: this.#markets.length,
      ...this.#counters,
    }
  }

  /** Ends everything; resolves when every socket is closed. May be called more than once. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#loop.close()
  }

  #receive(decoded: Decoded, connection: Connection): void {
    this.#counters.frames += 1
    if (decoded.kind === 'tick') {
      if (decoded.unknownState !== undefined) this.#noteState(decoded.unknownState)
      this.#receiveTick(decoded.tick, connection)
    } else if (decoded.kind === 'halted') {
      this.#options.onTradable(this.#exchange, decoded.market, false, this.#context.clock.now())
    } else if (decoded.kind === 'malformed') this.#counters.drop(decoded.reason)
    else this.#counters.ignored += 1
  }

  #receiveTick(tick: Tick, { state: { openedAt } }: Connection): void {
    if (tick.origin === 'stream') this.#noteData(tick.receivedAt, openedAt ?? tick.receivedAt)
    else {
      this.#tradingStatus.answeredAt = tick.receivedAt
      this.#search.prove(tick.market)
    }
    this.#emit(tick)
  }

  #emit(tick: Tick): void {
    this.#counters.ticks += 1
    this.#options.onTick(tick)
  }

  #noteState(state: string): void {
    if (this.#unknownStates.has(state)) return
    this.#unknownStates.add(state)
    const fields = { exchange: this.#exchange, state }
    this.#context.log.warn(fields, 'unknown market state: the market counts as trading')
  }

  /** Reports an interruption when data flows again, or for the first time, and after a silence. */
  #noteData(at: EpochMs, openedAt: EpochMs): void {
    const brokenAt = this.#brokenAt
    const quietFrom = this.#lastDataAt ?? at
    this.#brokenAt = undefined
    this.#lastDataAt = at
    const isBack = brokenAt !== undefined
    if (isBack && Number.isFinite(brokenAt)) this.#counters.reconnects += 1
    const isSilence = isLongAgo(isBack ? openedAt : quietFrom, at)
    if (isSilence) this.#counters.silences += 1
    else if (!isBack) return
    // A new connection begins with current prices; after them only a silence can have swallowed frames.
    const pricesFrom = isSilence ? at : openedAt
    this.#options.onInterrupted({ exchange: this.#exchange, from: brokenAt ?? quietFrom, to: at, pricesFrom })
    // Upbit's new connections send snapshots unasked.
    if (isSilence || this.#options.askTradingPrices !== undefined) this.#tradingStatus.seed(this.#markets)
  }

  #renewSubscription(): undefined {
    if (this.#search.forgive(this.#context.clock.now())) this.#loop.resubscribe()
    this.#loop.renewSubscription()
  }

  #noteStatusFailure(cause: unknown): void {
    this.#counters.statusFailures += 1
    this.#counters.remember(cause)
    const fields = { exchange: this.#exchange, error: messageOf(cause) }
    this.#context.log.warn(fields, 'the request for the trading status failed and will be repeated')
  }
}

/** A step of the wall clock counts as a silence, so that times from before and after it are not compared. */
function isLongAgo(from: EpochMs, to: EpochMs): boolean {
  return Math.abs(to - from) > MAX_QUIET_MS
}

function withStandingMarkets(
  { exchange, maxMarkets }: Protocol,
  markets: readonly Market[],
): readonly Market[] {
  const all = [...new Set([...REFERENCE_MARKETS[exchange], ...PACEMAKERS[exchange], ...markets])]
  if (all.length <= maxMarkets) return all
  throw new KimchiError(
    'KIMCHI_ERR_CONFIG',
    `${exchange} markets must be at most ${maxMarkets} on one connection, got: ${all.length}`,
  )
}
