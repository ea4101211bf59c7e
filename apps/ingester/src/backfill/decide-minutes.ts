import {
  type Coin,
  type EpochMinute,
  type Leg,
  minuteStart,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Sample,
  type SettledReason,
  sampleOrGap,
} from '@kimchi/core'
import type { SettledMinute } from '@kimchi/store'
import { CARRY_MINUTES, type CandleBlock } from './candle-block.ts'
import type { CandleBlockCache } from './candle-block-cache.ts'

/** Minutes of one coin, ascending. */
export interface CoinMinutes {
  readonly coin: Coin
  readonly minutes: readonly EpochMinute[]
}

export interface Decided {
  readonly samples: readonly Sample[]
  readonly settled: readonly SettledMinute[]
  /** Minutes that candles leave undecided, and may decide a minute later. */
  readonly open: readonly EpochMinute[]
}

/** The candles by which a coin's minutes are decided. */
export interface CandleLegs {
  readonly upbit: CandleBlock
  readonly binance: CandleBlock
  readonly rate: CandleBlock
  readonly upbitReference: CandleBlock
  readonly binanceReference: CandleBlock
}

/**
 * Decides minutes from candles; they lie within one block of each market. While an exchange seems to be down,
 * fetches only the markets that always trade, not the coin's.
 */
export async function decideWindow(
  { coin, minutes }: CoinMinutes,
  blocks: CandleBlockCache,
): Promise<Decided> {
  const limit = await fetchLimit(blocks)
  const open = minutes.filter(minute => minute > limit)
  const decidable = minutes.filter(minute => minute <= limit)
  const last = decidable.at(-1)
  if (last === undefined) return { samples: [], settled: [], open }
  const [shared, upbit, binance] = await Promise.all([
    fetchShared(last, blocks),
    blocks.blockOf('upbit', coin.upbit, last),
    blocks.blockOf('binance', coin.binance, last),
  ])
  const legs = { ...shared, upbit, binance }
  const samples: Sample[] = []
  const settled: SettledMinute[] = []
  for (const minute of decidable) {
    const outcome = candleSampleOrGap(coin, minute, legs)
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

/** The candles that every coin needs. */
async function fetchShared(minute: EpochMinute, blocks: CandleBlockCache) {
  const [rate, upbitReference, binanceReference] = await Promise.all([
    blocks.blockOf('upbit', RATE_MARKET, minute),
    blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, minute),
    blocks.blockOf('binance', REFERENCE_MARKETS.binance, minute),
  ])
  return { rate, upbitReference, binanceReference }
}

/**
 * The newest minute for which the newest candles show that both exchanges were up and the rate was known. Any
 * outage before it is over, so its minutes can be decided; candles of later minutes may still come.
 */
export async function fetchLimit(blocks: CandleBlockCache): Promise<EpochMinute> {
  const { rate, upbitReference, binanceReference } = await fetchShared(await blocks.newestMinute(), blocks)
  const upbitUp = Math.max(rate.newestTrade, upbitReference.newestTrade)
  return Math.min(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)
}

/**
 * The candle's start stands for its last trade, whose second no candle tells: as both M and the start are whole
 * minutes, the trade is "at most 60 minutes before M" exactly when the start is.
 */
function legOf(block: CandleBlock, minute: EpochMinute): Leg | undefined {
  const candle = block.lastTrade(minute)
  return candle && { price: candle[1], tradedAt: minuteStart(candle[0] - 1), tradable: true }
}
