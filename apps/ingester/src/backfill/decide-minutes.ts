import {
  type Coin,
  type EpochMinute,
  type Leg,
  minuteStart,
  type Sample,
  type SettledReason,
  sampleOrGap,
} from '@kimchi/core'
import type { SettledMinute } from '@kimchi/store'
import type { CandleBlock, CandleLegs, CoinMinutes } from './candle-block.ts'
import type { CandleBlockCache } from './candle-block-cache.ts'

export interface Decided {
  readonly samples: readonly Sample[]
  readonly settled: readonly SettledMinute[]
  /** Minutes that candles leave undecided, and may decide a minute later. */
  readonly open: readonly EpochMinute[]
}

/** Decides minutes from candles; they lie within one block of each market. */
export async function decideWindow(window: CoinMinutes, blocks: CandleBlockCache): Promise<Decided> {
  const { coin, minutes } = window
  const fetched = await blocks.fetchLegs(window)
  const samples: Sample[] = []
  const settled: SettledMinute[] = []
  const open: EpochMinute[] = []
  for (const minute of minutes) {
    const isLater = fetched === undefined || minute > fetched.limit
    const outcome = isLater ? 'open' : candleSampleOrGap(coin, minute, fetched.legs)
    if (outcome === 'open') open.push(minute)
    else if (typeof outcome === 'string') settled.push({ symbol: coin.symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { samples, settled, open }
}

/**
 * One coin's sample of minute M from one-minute candles, by the same decision as the live one: the closes of
 * the last candles with a trade up to the one that ends at M, carried for as long as a live price would be. `open`
 * while a candle may still come.
 * @see docs/architecture.md#samples-and-gaps
 */
export function candleSampleOrGap(
  { symbol, allowed }: Pick<Coin, 'symbol' | 'allowed'>,
  minute: EpochMinute,
  { upbit, binance, rate, upbitReference, binanceReference }: CandleLegs,
): Sample | SettledReason | 'open' {
  if (![upbit, binance, rate, upbitReference, binanceReference].every(block => block.knows(minute)))
    return 'open'
  const upbitUp = [upbit, rate, upbitReference].some(block => block.traded(minute))
  const binanceUp = [binance, binanceReference].some(block => block.traded(minute))
  // Binance writes no candles during maintenance.
  if (binance.lacks(minute)) return 'binance-down'
  return sampleOrGap(symbol, minute, 'candle', {
    allowed,
    upbitUp,
    binanceUp,
    upbit: legOf(upbit, minute),
    rate: legOf(rate, minute),
    binance: legOf(binance, minute),
  })
}

/**
 * The candle's start stands for its last trade, whose second no candle tells: as both M and the start are whole
 * minutes, the trade is "at most 60 minutes before M" exactly when the start is.
 */
function legOf(block: CandleBlock, minute: EpochMinute): Leg | undefined {
  const candle = block.lastTrade(minute)
  return candle && { price: candle[1], tradedAt: minuteStart(candle[0] - 1), tradable: true }
}
