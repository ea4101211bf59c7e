/** The latest premium of every tracked coin. */
export interface LiveList {
  readonly result: 'ok'
  /** The newest `snapshot_at`: UTC, `YYYY-MM-DDTHH:MM:SS` without a zone. */
  readonly updated_at: string
  /** The number of rows in `data`. */
  readonly count: number
  readonly note: string
  readonly data: readonly CoinPremium[]
}

/** One coin of the live list. */
export interface CoinPremium {
  readonly symbol: string
  readonly name: string
  /** Percent, rounded to 4 decimals; negative is a discount. */
  readonly premium_pct: number
  /** Price on Upbit in KRW, last trade. */
  readonly upbit_krw: number
  /** Price on Binance in USDT, last trade. */
  readonly binance_usdt: number
  /** Price of USDT on Upbit in KRW, last trade. */
  readonly usdt_krw: number
  /** The minute of this row: UTC, `YYYY-MM-DDTHH:MM:SS` without a zone. */
  readonly snapshot_at: string
}

/** The daily history of one coin, oldest day first, today included. */
export interface History {
  readonly result: 'ok'
  readonly symbol: string
  readonly name: string
  /** Elements of `data`. */
  readonly count: number
  readonly data: readonly DailyPremium[]
}

/** One UTC day of a history: premiums in percent, rounded to 4 decimals. */
export interface DailyPremium {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly open_pct: number
  readonly high_pct: number
  readonly low_pct: number
  readonly close_pct: number
  readonly avg_pct: number
  /** Minutes that make up the day; 1440 is a whole day. */
  readonly samples: number
}
