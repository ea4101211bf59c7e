export type Exchange = 'upbit' | 'binance'

/** Milliseconds since 1970-01-01T00:00Z. */
export type EpochMs = number

/** A length of time in milliseconds. */
export type Milliseconds = number

/** The simulator's time; a test passes its own. */
export interface SimulatorClock {
  /** Wall-clock time, UTC. */
  now(): EpochMs
}

/** What Binance calls the state of a symbol. */
export type BinanceStatus = 'TRADING' | 'BREAK'

/** One simulated coin; both its markets follow the same price. */
export interface SimulatedCoin {
  /** With the simulator's seed it makes the coin's price; two coins with the same ticker have different ids. */
  readonly id: string
  /** The price around which it wanders, in USDT. */
  readonly price: number
  /** Moves like the coin with this id, so that the ratio of their prices stays. @default moves by itself */
  readonly follows?: string
  /** On Upbit, always against KRW. */
  readonly upbit?: {
    /** Upbit's own code of the coin, for example `BTC` in `KRW-BTC`. */
    readonly asset: string
    readonly koreanName: string
    readonly englishName: string
    /** Mean number of trades a minute; 0.05 is one in twenty minutes. */
    readonly tradesPerMinute: number
    /** Designated as "investment warning". @default false */
    readonly warning?: boolean
  }
  /** On Binance, always against USDT. */
  readonly binance?: {
    /** Binance's own code of the coin, for example `BTC` in `BTCUSDT`. */
    readonly asset: string
    readonly tradesPerMinute: number
    /** @default 'TRADING' */
    readonly status?: BinanceStatus
  }
}

/** One market in the list of an exchange. */
export interface Listing {
  readonly exchange: Exchange
  /** The exchange's own pair code, `KRW-BTC` or `BTCUSDT`. */
  readonly market: string
  readonly asset: string
  readonly coin: SimulatedCoin
  readonly tradesPerMinute: number
}

export interface Trade {
  readonly at: EpochMs
  readonly price: number
  /** In units of the market. */
  readonly volume: number
}
