import {
  type Coin,
  type EpochMinute,
  type Leg,
  MAX_CARRY_MS,
  minuteStart,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Sample,
  type SettledReason,
  sampleOrGap,
} from '@kimchi/core'
import type { SettledMinute } from '@kimchi/store'
import type { CandleBlock } from './candle-block.ts'
import type { CandleBlocks, OwnBlocks } from './candle-blocks.ts'

/** Minutes of one coin, ascending. */
export interface CoinMinutes {
  readonly coin: Coin
  readonly minutes: readonly EpochMinute[]
}

/** What candles say about the minutes of a window; a minute in neither list stays open. */
export interface Decided {
  readonly samples: readonly Sample[]
  readonly settled: readonly SettledMinute[]
  /** Minutes that an answer of a minute later may decide. */
  readonly doubted: readonly EpochMinute[]
}

/** Nothing is decided. */
export const NOTHING: Decided = { samples: [], settled: [], doubted: [] }

/** Candles that every coin needs. */
interface SharedBlocks {
  readonly rate: CandleBlock
  readonly upbitReference: CandleBlock
  readonly binanceReference: CandleBlock
}

/** The candles by which a coin's minutes are decided. */
export interface CandleLegs extends SharedBlocks {
  readonly upbit: CandleBlock
  readonly binance: CandleBlock
}

/**
 * Decides minutes from candles; they lie within one block of each market. While an exchange seems to be down,
 * fetches only the markets that always trade, not the coin's.
 * @param own keeps the coin's blocks from one window to the next
 */
export async function decideWindow(
  { coin, minutes }: CoinMinutes,
  blocks: CandleBlocks,
  own: OwnBlocks = new Map(),
): Promise<Decided> {
  const newest = minutes.length > 0 ? await blocks.newest() : 0
  const complete = minutes.filter(minute => minute <= newest)
  const last = complete.at(-1)
  if (last === undefined) return NOTHING
  const [rate, upbitReference, binanceReference] = await Promise.all([
    blocks.blockOf('upbit', RATE_MARKET, last),
    blocks.blockOf('upbit', REFERENCE_MARKETS.upbit, last),
    blocks.blockOf('binance', REFERENCE_MARKETS.binance, last),
  ])
  const shared: SharedBlocks = { rate, upbitReference, binanceReference }
  const decidable: EpochMinute[] = []
  const doubted: EpochMinute[] = []
  const isDoubted = Object.values(shared).some(block => block.isDoubted)
  for (const minute of complete) {
    if (await isOver(minute, shared, blocks)) decidable.push(minute)
    else if (isDoubted) doubted.push(minute)
  }
  if (decidable.length === 0) return { ...NOTHING, doubted }
  const [upbit, binance] = await Promise.all([
    blocks.blockOf('upbit', coin.upbit, last, own),
    blocks.blockOf('binance', coin.binance, last, own),
  ])
  const samples: Sample[] = []
  const settled: SettledMinute[] = []
  for (const minute of decidable) {
    const outcome = candleSampleOrGap(coin, minute, { ...shared, upbit, binance })
    if (outcome === 'open') doubted.push(minute)
    else if (typeof outcome === 'string') settled.push({ symbol: coin.symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { samples, settled, doubted }
}

/**
 * One coin's sample of minute M from one-minute candles, by the same decision as the live one: the closes of
 * the last candles with a trade that open before M, carried for as long as a live price would be. `open` while
 * a candle may still come.
 * @see docs/architecture.md#samples-and-gaps
 */
export function candleSampleOrGap(
  { symbol, allowed }: Pick<Coin, 'symbol' | 'allowed'>,
  minute: EpochMinute,
  { upbit, binance, rate, upbitReference, binanceReference }: CandleLegs,
): Sample | SettledReason | 'open' {
  if (![upbit, binance, rate].every(block => block.knows(minute))) return 'open'
  const upbitUp = [upbit, rate, upbitReference].some(block => block.traded(minute))
  const binanceUp = [binance, binanceReference].some(block => block.traded(minute))
  if (!upbitUp && !upbitReference.knows(minute)) return 'open'
  if (!binanceUp && !binanceReference.knows(minute)) return 'open'
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

/** Whether later trades show that an outage in this minute, if any, is over: else candles may still come. */
async function isOver(
  minute: EpochMinute,
  { rate, upbitReference, binanceReference }: SharedBlocks,
  blocks: CandleBlocks,
): Promise<boolean> {
  const isUpbitUp = rate.traded(minute) || upbitReference.traded(minute)
  const hasRate = minuteStart(minute) - (legOf(rate, minute)?.tradedAt ?? 0) <= MAX_CARRY_MS
  return (
    (isUpbitUp || (await blocks.hasTradedSince('upbit', REFERENCE_MARKETS.upbit, minute))) &&
    (hasRate || (await blocks.hasTradedSince('upbit', RATE_MARKET, minute))) &&
    (binanceReference.traded(minute) ||
      (await blocks.hasTradedSince('binance', REFERENCE_MARKETS.binance, minute)))
  )
}

/**
 * The candle's start stands for its last trade: minutes are whole, so "at most 60 minutes before M" decides
 * the same for both.
 */
function legOf(block: CandleBlock, minute: EpochMinute): (Leg & { tradedAt: number }) | undefined {
  const candle = block.lastTrade(minute)
  return candle && { price: candle[1], tradedAt: minuteStart(candle[0]), tradable: true }
}
