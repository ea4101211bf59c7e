/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number

/** Whole minutes since 1970-01-01T00:00Z. Minute M is the instant M × 60 s, a UTC minute boundary. */
export type EpochMinute = number

/** A duration in milliseconds. */
export type Milliseconds = number

/** A price in Korean won, verbatim as the exchange printed it. */
export type Krw = number

/** A price in USDT, verbatim as the exchange printed it. */
export type Usdt = number

/** Korean won for one tether: Upbit's KRW-USDT last price. */
export type KrwPerUsdt = number

/**
 * A premium as an integer of 1/10,000 percent: 12345 is 1.2345 %. Negative is a discount.
 * Integers keep sums and averages exact.
 */
export type PremiumE4 = number

/** A calendar date `YYYY-MM-DD` in UTC. */
export type UtcDate = string
