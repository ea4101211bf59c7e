import type { EpochMinute, Exchange, KimchiErrorCode, Market, Milliseconds } from '@kimchi/core'
import type { BinanceMarket, Listing, UpbitMarket } from '../catalogue/listings.ts'

/** One 1-minute candle, compact because many travel: `[open minute, close, volume]`. */
export type MinuteCandle = readonly [openMinute: EpochMinute, close: number, volume: number]

/** Some candles, ascending, each minute at most once. */
export interface CandlePage {
  readonly candles: readonly MinuteCandle[]
  /** The page is complete from here up to the end of the range asked for; it may hold older candles too. */
  readonly start: EpochMinute
  /** How long the exchange wants no further request; undefined where it doesn't say. */
  readonly pauseMs?: Milliseconds | undefined
}

/** What both exchanges list now. */
export interface Listings {
  readonly upbit: Listing<UpbitMarket>
  readonly binance: Listing<BinanceMarket>
}

/** Candles to fetch: those that open in [from, to). */
export interface CandleRange {
  readonly exchange: Exchange
  readonly market: Market
  readonly from: EpochMinute
  readonly to: EpochMinute
}

/** A request to one exchange. */
export type RestQuestion =
  | { readonly kind: 'listing'; readonly exchange: Exchange }
  | ({ readonly kind: 'candles' } & CandleRange)

/** What the parent sends to the child. */
export interface RestRequest {
  readonly id: number
  /** The part before `/v1` or `/api/v3`. */
  readonly base: string
  readonly question: RestQuestion
}

/** What the child answers, under the request's id: a result or a failure. */
export interface RestAnswer {
  readonly id: number
  readonly result?: unknown
  readonly failure?: Failure
}

/** An error that travels between processes. */
export interface Failure {
  readonly code: KimchiErrorCode
  readonly message: string
  /** Set on an HttpError. */
  readonly status?: number
  readonly retryAfterMs?: Milliseconds
}
