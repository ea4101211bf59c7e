import { isPrice, premiumE4 } from './premium.ts'
import type { Sample, SampleSource } from './sample.ts'
import { HOUR_MS, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds, PremiumE4 } from './units.ts'

/** How long after its market's last known trade a price is carried while its exchange is up. */
export const MAX_CARRY_MS: Milliseconds = HOUR_MS

/**
 * −75 % and +300 %, a factor of four either way: premiums beyond are those of a broken rate, or of a coin that one
 * exchange has swapped for new units before the other. The widest true ones known: docs/coins.md.
 */
const LEAST_PREMIUM_E4: PremiumE4 = -750_000
const MOST_PREMIUM_E4: PremiumE4 = 3_000_000

/** A premium beyond 1,000,000 % comes from broken prices, and would not fit a day's exact sum. */
const MOST_POSSIBLE_E4: PremiumE4 = 1e10

/**
 * Why a coin has no sample for a minute. `behind`: an exchange's stream had not passed M in time; `halted`: the coin is
 * halted and no trade is known in the minute, so candles never fill it; `halting`: the coin is halted but traded in the
 * minute, or its exchange was not heard, so candles may fill it; `implausible`: no premium of one coin, unless `ALLOW`
 * names it; `impossible`: none of any pair.
 */
export type GapReason =
  | 'halted'
  | 'halting'
  | 'clock-skew'
  | 'upbit-down'
  | 'binance-down'
  | 'behind'
  | 'no-rate'
  | 'no-upbit-price'
  | 'no-binance-price'
  | 'implausible'
  | 'impossible'

/** Why a minute stays a gap once its candles are known. The other reasons say what the feeds missed. */
export type SettledReason = Exclude<GapReason, 'halting' | 'clock-skew' | 'behind'>

/** What is known of one leg of a sample just before M. */
export interface Leg {
  /** The last trade's price, or undefined when a later trade may have been missed. */
  readonly price: number | undefined
  /** The market's last known trade, which limits how long the price is carried. */
  readonly tradedAt: EpochMs | undefined
  /** False while the exchange says that the market is halted, in preview or delisted. */
  readonly tradable: boolean
}

/** The prices and the state of both exchanges by which {@link sampleOrGap} decides, for one coin and minute. */
export interface MinuteLegs {
  readonly upbitUp: boolean
  readonly binanceUp: boolean
  /** Whether any premium of this pair is plausible. @default false */
  readonly allowed?: boolean | undefined
  /** Undefined where nothing has been heard of the market, or the candles show no trade to carry. */
  readonly upbit: Leg | undefined
  readonly binance: Leg | undefined
  readonly rate: Leg | undefined
}

/**
 * Decides between sample and gap, for the live feeds and for backfill alike. It never invents a value: an
 * exchange that was down, an unknown or outdated price, a halted market, or an implausible premium makes a gap.
 * @see docs/architecture.md#samples-and-gaps
 */
export function sampleOrGap(
  symbol: string,
  minute: EpochMinute,
  source: SampleSource,
  { upbitUp, binanceUp, allowed = false, upbit, binance, rate }: MinuteLegs,
): Sample | SettledReason {
  if (upbit?.tradable === false || binance?.tradable === false) return 'halted'
  if (!upbitUp) return 'upbit-down'
  if (!binanceUp) return 'binance-down'
  if (!isKnown(rate, minute) || !rate.tradable) return 'no-rate'
  if (!isKnown(upbit, minute)) return 'no-upbit-price'
  if (!isKnown(binance, minute)) return 'no-binance-price'
  if (![upbit.price, binance.price, rate.price].every(isPrice)) return 'impossible'
  const premium = premiumE4(upbit.price, binance.price, rate.price)
  if (premium > MOST_POSSIBLE_E4) return 'impossible'
  if (!allowed && (premium < LEAST_PREMIUM_E4 || premium > MOST_PREMIUM_E4)) return 'implausible'
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

function isKnown(leg: Leg | undefined, minute: EpochMinute): leg is Leg & { readonly price: number } {
  const { price, tradedAt } = leg ?? {}
  return price !== undefined && tradedAt !== undefined && minuteStart(minute) - tradedAt <= MAX_CARRY_MS
}
