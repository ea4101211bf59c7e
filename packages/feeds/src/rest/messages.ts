import type { EpochMinute, Exchange, KimchiErrorCode, Market, Milliseconds } from '@kimchi/core'
import type { BinanceMarket, Listing, UpbitMarket } from '../catalogue/listings.ts'

/** One 1-minute candle, compact because many travel: `[open minute, close, volume]`. */
export type MinuteCandle = readonly [openMinute: EpochMinute, close: number, volume: number]

/** Some candles, ascending, each minute at most once, and from which minute on there are no others. */
export interface CandlePage {
  readonly candles: readonly MinuteCandle[]
  /**
   * All candles that open from here up to the end of the range asked for are among them; there may be older
   * ones too.
   */
  readonly start: EpochMinute
  /** How long the exchange wants no further request; undefined where it says nothing of it. */
  readonly restMs?: Milliseconds | undefined
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

/** What the parent asks of the child. */
export type RestRequest = { readonly id: number; readonly base: string } & RestQuestion

/** What is asked of one exchange. */
export type RestQuestion =
  | { readonly kind: 'listing'; readonly exchange: Exchange }
  | ({ readonly kind: 'candles' } & CandleRange)

/** What the child answers, under the request's id. */
export type RestAnswer =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly failure: Failure }

/** An error that travels between processes. */
export interface Failure {
  readonly code: KimchiErrorCode
  readonly message: string
  readonly status?: number | undefined
  readonly retryAfterMs?: Milliseconds | undefined
  /** Set when the exchange was not reached. */
  readonly unreached?: 'name' | 'host' | undefined
}
