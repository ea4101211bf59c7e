import type { LatestTicks } from './latest-ticks.ts'
import { isPrice, premiumE4 } from './premium.ts'
import type { Coin, Sample, SampleSource } from './sample.ts'
import type { Exchange, Tick } from './tick.ts'
import { HOUR_MS, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds, PremiumE4 } from './units.ts'

/** Upbit's KRW-USDT, the rate of every sample. Always subscribed. */
export const RATE_MARKET = 'KRW-USDT'

/** Markets that are always subscribed, so that "the exchange was up" never depends on the choice of coins. */
export const REFERENCE_MARKETS: Readonly<Record<Exchange, readonly string[]>> = {
  upbit: ['KRW-BTC', RATE_MARKET],
  binance: ['BTCUSDT'],
}

/** For how long after its last trade an Upbit price is carried while the exchange is up. */
export const MAX_CARRY_MS: Milliseconds = HOUR_MS

/** A premium beyond ±1,000,000 % is arithmetic on broken prices; it would not fit a day's exact sum either. */
const MAX_PREMIUM_E4: PremiumE4 = 1e10

/** Why a coin has no sample for a minute. */
export type GapReason =
  | 'clock-skew'
  | 'late'
  | 'upbit-down'
  | 'binance-down'
  | 'no-rate'
  | 'no-upbit-price'
  | 'no-binance-price'
  | 'halted'
  | 'implausible'

/** A coin's minute without a sample, and why. */
export interface Gap {
  readonly symbol: string
  readonly minute: EpochMinute
  readonly reason: GapReason
}

/** All coins at one minute: each has either a sample or a gap. */
export interface Snapshot {
  readonly minute: EpochMinute
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gap[]
}

/** What one leg of a sample is known to be just before M. */
export interface Leg {
  readonly price: number
  /** Last trade on Upbit, where it limits how long the price is carried; unknown on Binance. */
  readonly tradedAt?: EpochMs
  /** False when the market is halted, in preview or delisted. */
  readonly tradable: boolean
}

/** Everything the decision between sample and gap needs for one coin and minute, wherever it comes from. */
export interface MinuteLegs {
  readonly upbitUp: boolean
  readonly binanceUp: boolean
  readonly upbit: Leg | undefined
  readonly binance: Leg | undefined
  readonly rate: Leg | undefined
}

/**
 * Every coin's sample of minute M, or the reason why there is none. To be called 1 s after M, when late frames that
 * belong before M have arrived. @see docs/architecture.md#samples-and-gaps
 */
export function takeSnapshot(latest: LatestTicks, minute: EpochMinute, coins: readonly Coin[]): Snapshot {
  const skewed =
    latest.skewBefore('upbit', minute) !== 'none' || latest.skewBefore('binance', minute) !== 'none'
  const upbitUp = latest.tradedBefore('upbit', minute)
  const binanceUp = latest.tradedBefore('binance', minute)
  const rate = upbitLeg(latest.before('upbit', RATE_MARKET, minute))
  const samples: Sample[] = []
  const gaps: Gap[] = []
  for (const { symbol, upbit, binance } of coins) {
    const outcome = skewed
      ? 'clock-skew'
      : sampleOrGap(symbol, minute, 'live', {
          upbitUp,
          binanceUp,
          rate,
          upbit: upbitLeg(latest.before('upbit', upbit, minute)),
          binance: binanceLeg(latest.before('binance', binance, minute)),
        })
    if (typeof outcome === 'string') gaps.push({ symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { minute, samples, gaps }
}

/**
 * The one decision between sample and gap, shared by the live feeds and by backfill.
 * Never invents a value: an exchange that was down, an unknown rate or price, or a halted market is a gap.
 */
export function sampleOrGap(
  symbol: string,
  minute: EpochMinute,
  source: SampleSource,
  { upbitUp, binanceUp, upbit, binance, rate }: MinuteLegs,
): Sample | GapReason {
  if (!upbitUp) return 'upbit-down'
  if (!binanceUp) return 'binance-down'
  if (!isFresh(rate, minute) || !rate.tradable) return 'no-rate'
  if (upbit?.tradable === false || binance?.tradable === false) return 'halted'
  if (!isFresh(upbit, minute)) return 'no-upbit-price'
  if (binance === undefined) return 'no-binance-price'
  if (![upbit.price, binance.price, rate.price].every(isPrice)) return 'implausible'
  const premium = premiumE4(upbit.price, binance.price, rate.price)
  if (Math.abs(premium) > MAX_PREMIUM_E4) return 'implausible'
  return {
    symbol,
    minute,
    upbitKrw: upbit.price,
    binanceUsdt: binance.price,
    usdtKrw: rate.price,
    premiumE4: premium,
    source,
  }
}

function upbitLeg(tick: Tick | undefined): Leg | undefined {
  return tick && { price: tick.price, tradedAt: tick.eventAt, tradable: tick.tradable }
}

function binanceLeg(tick: Tick | undefined): Leg | undefined {
  return tick && { price: tick.price, tradable: tick.tradable }
}

function isFresh(leg: Leg | undefined, minute: EpochMinute): leg is Leg {
  return (
    leg !== undefined && (leg.tradedAt === undefined || minuteStart(minute) - leg.tradedAt <= MAX_CARRY_MS)
  )
}
