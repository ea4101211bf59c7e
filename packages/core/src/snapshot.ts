import type { KnownBefore } from './latest-ticks.ts'
import type { Coin, Sample } from './sample.ts'
import { type GapReason, type Leg, type MinuteLegs, sampleOrGap } from './sample-or-gap.ts'
import type { Exchange, Market } from './tick.ts'
import { minuteStart } from './time.ts'
import type { EpochMinute } from './units.ts'

/** Upbit's KRW-USDT, the rate of every sample. */
export const RATE_MARKET = 'KRW-USDT'

/** The market of each exchange that always trades while the exchange is up. */
export const REFERENCE_MARKETS: Readonly<Record<Exchange, Market>> = { upbit: 'KRW-BTC', binance: 'BTCUSDT' }

/** A coin's minute without a sample, and why. */
export interface Gap {
  readonly symbol: string
  readonly minute: EpochMinute
  readonly reason: GapReason
  /** The last prices of both markets and of the rate, by market, where these or a halt are the reason. */
  readonly prices?: Readonly<Record<string, number | undefined>>
}

/** All coins at one minute: each has either a sample or a gap. */
export interface Snapshot {
  readonly minute: EpochMinute
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gap[]
}

/**
 * Every coin's sample of minute M, or the reason why there is none.
 * @param known once both streams have passed M, or when it is too late to wait for them
 * @see docs/architecture.md#samples-and-gaps
 */
export function takeSnapshot(known: KnownBefore, coins: readonly Coin[]): Snapshot {
  const { minute, upbitUp, binanceUp } = known
  const isBehind = upbitUp && binanceUp && !known.hasPassed
  const obstacle = known.isSkewed ? 'clock-skew' : isBehind ? 'behind' : undefined
  const rate = known.upbit.get(RATE_MARKET)
  const samples: Sample[] = []
  const gaps: Gap[] = []
  for (const { symbol, allowed, upbit: upbitMarket, binance: binanceMarket } of coins) {
    const upbit = known.upbit.get(upbitMarket)
    const binance = known.binance.get(binanceMarket)
    const legs = { upbitUp, binanceUp, allowed, upbit, binance, rate }
    const decision = sampleOrGap(symbol, minute, 'live', legs)
    // A halt outranks every other reason: it takes the coin off the list.
    const outcome = decision === 'halted' ? haltOf(legs, minute) : (obstacle ?? decision)
    const prices = {
      [upbitMarket]: upbit?.price,
      [binanceMarket]: binance?.price,
      [RATE_MARKET]: rate?.price,
    }
    if (typeof outcome !== 'string') samples.push(outcome)
    else gaps.push({ symbol, minute, reason: outcome, ...(outcome !== obstacle && { prices }) })
  }
  return { minute, samples, gaps }
}

/** A halt is known of a minute in which its exchange was heard, and no trade; candles may fill any other minute. */
function haltOf(
  { upbitUp, binanceUp, upbit, binance }: MinuteLegs,
  minute: EpochMinute,
): 'halted' | 'halting' {
  const isKnown = (upbitUp && isHaltOf(upbit, minute)) || (binanceUp && isHaltOf(binance, minute))
  return isKnown ? 'halted' : 'halting'
}

/** Whether a market is halted and no trade of it is known in the minute that ends at M. */
function isHaltOf(leg: Leg | undefined, minute: EpochMinute): boolean {
  return leg?.tradable === false && (leg.tradedAt ?? Number.NEGATIVE_INFINITY) < minuteStart(minute - 1)
}
