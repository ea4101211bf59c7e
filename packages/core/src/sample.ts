import type { EpochMinute, Krw, KrwPerUsdt, PremiumE4, Usdt } from './units.ts'

/** Where a sample's prices come from: the WebSocket feeds, or one-minute candles fetched afterwards. */
export type SampleSource = 'live' | 'candle'

/** Whether the prices are real or come from a simulator. The two never share one Redis. */
export type PricesKind = 'live' | 'simulated'

/**
 * One coin's premium for one minute, and the three prices from which it can be recomputed.
 * @see docs/architecture.md#definitions
 */
export interface Sample {
  /** The coin, upper case: `BTC`. */
  readonly symbol: string
  /** The minute boundary M; every price is the last one before it. */
  readonly minute: EpochMinute
  readonly upbitKrw: Krw
  readonly binanceUsdt: Usdt
  readonly usdtKrw: KrwPerUsdt
  readonly premiumE4: PremiumE4
  readonly source: SampleSource
}

/** A tracked coin: its symbol, display name and the market code on each exchange. */
export interface Coin {
  readonly symbol: string
  readonly name: string
  readonly upbit: string
  readonly binance: string
  /** Whether an operator vouches for the pair, by `ALLOW`: no premium of it is implausible. @default false */
  readonly allowed?: boolean
}
