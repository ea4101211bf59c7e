import type { Coin, EpochMinute, EpochMs, Exchange, Market, Milliseconds, Sample, Tick } from '@kimchi/core'
import type { Listings, MinuteCandle } from '@kimchi/feeds'
import type { WatchedStream } from './watched-stream.ts'

/** The settings that name where the exchanges answer. */
export type BaseVariable = 'UPBIT_REST_URL' | 'UPBIT_WS_URL' | 'BINANCE_REST_URL' | 'BINANCE_WS_URL'

/** What one base said to one request or handshake. */
export interface BaseAnswer {
  readonly variable: BaseVariable
  readonly base: string
  readonly isAnswering: boolean
  readonly said: string
}

/** How one candle came to be, seen by asking for it again and again. */
export interface CandleWatch {
  readonly exchange: Exchange
  readonly market: Market
  /** The minute's end; the candle opens a minute before. */
  readonly minute: EpochMinute
  /** For how long after the minute's end it was watched. */
  watchedMs: Milliseconds
  /** When it was first there, after the minute's end. */
  thereMs: Milliseconds | undefined
  /** When it was last seen to have changed; undefined when it never did. */
  changedMs: Milliseconds | undefined
  candle: MinuteCandle | undefined
}

/** One coin's sample from frames, or why there is none. */
export interface LiveSample {
  readonly coin: Coin
  readonly minute: EpochMinute
  readonly sample: Sample | string
}

/** Everything that the doctor has seen; what it could not see is absent or empty. */
export interface World {
  readonly bases: BaseAnswer[]
  readonly listings: { -readonly [E in Exchange]?: Listings[E] }
  /** Why lists could not be loaded. */
  readonly listingProblems: string[]
  coins: readonly Coin[]
  /** All codes, subscribed again and again as the service does it. */
  upbit: WatchedStream | undefined
  /** All codes, subscribed once. */
  twin: WatchedStream | undefined
  /** A code that does not exist, and nothing else. */
  idle: WatchedStream | undefined
  binance: WatchedStream | undefined
  /** When the subscription of `upbit` was sent again. */
  readonly renewals: EpochMs[]
  /** When streams were opened and left. */
  openedAt: EpochMs
  leftAt: EpochMs
  trading: TradingPrices | undefined
  /** Subscribed symbols of Binance that sent nothing although they trade, by their candles. */
  readonly silentTraders: string[]
  /** What Upbit answers to a request for 201 candles before a minute: opening times. */
  page: { readonly count: number; readonly newest: EpochMs; readonly to: EpochMs } | undefined
  readonly candles: CandleWatch[]
  readonly samples: LiveSample[]
  /** What the exchanges' headers said at the first and the last request. */
  readonly limits: Record<Exchange, string[]>
}

/** An answer to `ticker/price`. */
export interface TradingPrices {
  readonly prices: ReadonlyMap<Market, number | undefined>
  /** Whether `symbolStatus` was refused, so that the statuses of exchangeInfo had to do. */
  readonly isRefused: boolean
  readonly askedAt: EpochMs
  readonly answeredAt: EpochMs
}

/** Nothing seen yet. */
export function emptyWorld(): World {
  return {
    bases: [],
    listings: {},
    listingProblems: [],
    coins: [],
    upbit: undefined,
    twin: undefined,
    idle: undefined,
    binance: undefined,
    renewals: [],
    openedAt: 0,
    leftAt: 0,
    trading: undefined,
    silentTraders: [],
    page: undefined,
    candles: [],
    samples: [],
    limits: { upbit: [], binance: [] },
  }
}

/** The newest price of each market that a stream has brought. */
export function lastPrices(ticks: readonly Tick[]): ReadonlyMap<Market, number> {
  return new Map(ticks.map(({ market, price }) => [market, price]))
}
