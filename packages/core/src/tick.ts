import type { EpochMs } from './units.ts'

/** The two exchanges compared. */
export type Exchange = 'upbit' | 'binance'

/** An exchange's own pair code: `KRW-BTC` on Upbit, `BTCUSDT` on Binance. */
export type Market = string

/**
 * One normalised price update of one market.
 *
 * Two clocks that are never mixed: `eventAt`, `sentAt` and `tradedAt` are the exchange's, `receivedAt` is
 * ours.
 */
export interface Tick {
  readonly exchange: Exchange
  readonly market: Market
  /** Last trade price, verbatim: KRW on Upbit, USDT on Binance. Finite and positive. */
  readonly price: number
  /**
   * Exchange time of the price: Upbit `trade_timestamp` (the last trade), Binance `E` (the event).
   * A REST seed has no exchange time and takes its receive time.
   */
  readonly eventAt: EpochMs
  /** When the exchange sent it (Upbit `timestamp`, Binance `E`); undefined when it doesn't say. */
  readonly sentAt: EpochMs | undefined
  readonly receivedAt: EpochMs
  /**
   * How the price came: `stream` a frame of something that just happened, `snapshot` the first answer
   * after a subscribe (its trade may be hours old), `seed` a REST answer.
   */
  readonly origin: 'stream' | 'snapshot' | 'seed'
  /**
   * The market's last trade as far as this tick tells: Upbit `trade_timestamp`; Binance `E` of a frame whose
   * price changed or whose volume rose, undefined for other frames; a seed counts as traded when received.
   */
  readonly tradedAt: EpochMs | undefined
  /** Whether the exchange says with this tick that the market trades; undefined when it says nothing. */
  readonly tradable: boolean | undefined
}

/**
 * A time in which frames of an exchange may have been lost: a long silence, or the time between two
 * connections.
 */
export interface Interruption {
  readonly exchange: Exchange
  /** Up to here nothing is missing; -Infinity before the first connection. Our clock, like the others. */
  readonly from: EpochMs
  /** From here on nothing is missing. */
  readonly to: EpochMs
  /** Prices received before this are no longer known to be the last ones. */
  readonly pricesFrom: EpochMs
}
