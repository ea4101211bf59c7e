import type { EpochMs } from './units.ts'

/** The two exchanges compared. */
export type Exchange = 'upbit' | 'binance'

/** An exchange's own pair code: `KRW-BTC` on Upbit, `BTCUSDT` on Binance. */
export type Market = string

/**
 * One normalised price update of one market.
 *
 * Two clocks that are never mixed: `eventAt` is the exchange's, `receivedAt` is ours.
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
  readonly receivedAt: EpochMs
  /**
   * How the price came: `stream` a frame of something that just happened, `snapshot` the first answer
   * after a subscribe (its trade may be hours old), `seed` a REST answer.
   */
  readonly origin: 'stream' | 'snapshot' | 'seed'
  /**
   * The instant at which this tick proves that its market traded, or undefined when it proves nothing:
   * an Upbit stream frame proves `trade_timestamp`, a Binance stream frame proves `E` when the price
   * differs from the one before on the same connection.
   */
  readonly tradedAt: EpochMs | undefined
  /** False when the exchange says in the same frame that the market is not trading (preview, delisted). */
  readonly tradable: boolean
}
