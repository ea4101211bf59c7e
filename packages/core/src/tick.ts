import type { EpochMs } from './units.ts'

export type Exchange = 'upbit' | 'binance'

/** An exchange's own pair code: `KRW-BTC` on Upbit, `BTCUSDT` on Binance. */
export type Market = string

/**
 * One normalised price update of one market.
 *
 * `eventAt`, `sentAt` and `tradedAt` are by the exchange's clock, `receivedAt` by ours; the two are never
 * mixed.
 */
export interface Tick {
  readonly exchange: Exchange
  readonly market: Market
  /** Last trade price, verbatim: KRW on Upbit, USDT on Binance. Finite and positive. */
  readonly price: number
  /**
   * Exchange time of the price: Upbit `trade_timestamp` (the last trade), Binance `E` (the event).
   * For a REST seed, which has no exchange time, its receive time.
   */
  readonly eventAt: EpochMs
  /**
   * When the exchange sent it (Upbit `timestamp`, Binance `E`); undefined when the frame doesn't say. For a
   * REST seed, when we asked for it.
   */
  readonly sentAt: EpochMs | undefined
  readonly receivedAt: EpochMs
  /**
   * Where the price comes from: `stream`, a frame about something that just happened; `snapshot`, the first
   * answer to a subscription (its trade may be hours old); `seed`, a REST answer.
   */
  readonly origin: 'stream' | 'snapshot' | 'seed'
  /**
   * The market's last trade as far as this tick shows: Upbit `trade_timestamp`; Binance `E` of a frame whose
   * price changed or whose volume rose, undefined for other frames; a seed counts as traded when received. Never
   * after `eventAt`.
   */
  readonly tradedAt: EpochMs | undefined
  /** Whether the market trades, by this tick; undefined when the tick doesn't say. */
  readonly tradable: boolean | undefined
}

/**
 * Frames of an exchange may have been lost: in a silence of more than 3 s, at a step of our clock or a change to
 * another connection, or while frames come late.
 */
export interface Interruption {
  /** Prices received before this, by our clock, may have been followed by others that were lost. */
  readonly pricesFrom: EpochMs
  /** Whether our clock has stepped back: times from before can't be compared with those that follow. */
  readonly isClockBack: boolean
  readonly isSilence: boolean
  /** Whether current prices are to be asked for: what the exchange sent meanwhile may be lost. */
  readonly isSeedWanted: boolean
}
