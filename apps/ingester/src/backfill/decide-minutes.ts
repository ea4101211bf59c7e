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
import type { CandleBlock, CandleBlocks } from './candle-blocks.ts'

const [UPBIT_REFERENCE = RATE_MARKET] = REFERENCE_MARKETS.upbit
const [BINANCE_REFERENCE = ''] = REFERENCE_MARKETS.binance

/** Markets whose candles every coin needs: the rate, and those that always trade. */
export const SHARED_MARKETS: ReadonlySet<string> = new Set([RATE_MARKET, UPBIT_REFERENCE, BINANCE_REFERENCE])

/** Minutes of one coin, ascending, within one block of candles: a multiple of {@link WINDOW_MINUTES} and on. */
export interface Window {
  readonly coin: Coin
  readonly minutes: readonly EpochMinute[]
}

/** What candles say about the minutes of a window; those that are neither stay open. */
export interface Decided {
  readonly samples: readonly Sample[]
  readonly settled: readonly SettledMinute[]
}

/** Nothing is decided. */
export const NOTHING: Decided = { samples: [], settled: [] }

/** The candles that all coins need, and those of one coin. */
interface SharedLegs {
  readonly rate: CandleBlock
  readonly upbitReference: CandleBlock
  readonly binanceReference: CandleBlock
}
export interface CandleLegs extends SharedLegs {
  readonly upbit: CandleBlock
  readonly binance: CandleBlock
}

/**
 * Decides the minutes of a window from candles. While an exchange seems to be down it asks for the markets
 * that always trade, not for the coin's.
 */
export async function decideWindow({ coin, minutes }: Window, blocks: CandleBlocks): Promise<Decided> {
  if (minutes.length === 0) return NOTHING
  const newest = await blocks.newest()
  const complete = minutes.filter(minute => minute <= newest)
  const last = complete.at(-1)
  if (last === undefined) return NOTHING
  const shared = await sharedLegs(last, blocks)
  const decidable = await withoutOutages(complete, shared, blocks)
  if (decidable.length === 0) return NOTHING
  const [upbit, binance] = await Promise.all([
    blocks.blockOf('upbit', coin.upbit, last),
    blocks.blockOf('binance', coin.binance, last),
  ])
  const samples: Sample[] = []
  const settled: SettledMinute[] = []
  for (const minute of decidable) {
    const outcome = candleSampleOrGap(coin.symbol, minute, { ...shared, upbit, binance })
    if (outcome === 'open') continue
    if (typeof outcome === 'string') settled.push({ symbol: coin.symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { samples, settled }
}

/**
 * One coin's sample of minute M from one-minute candles, by the same decision as the live one: the closes of
 * the last candles with a trade that open before M, carried for as long as a live price would be. `open` while
 * a candle may still come.
 * @see docs/architecture.md#samples-and-gaps
 */
export function candleSampleOrGap(
  symbol: string,
  minute: EpochMinute,
  legs: CandleLegs,
): Sample | SettledReason | 'open' {
  const { upbit, binance, rate, upbitReference, binanceReference } = legs
  if (![upbit, binance, rate].every(block => block.knows(minute))) return 'open'
  return sampleOrGap(symbol, minute, 'candle', {
    upbitUp: [upbit, rate, upbitReference].some(block => block.traded(minute)),
    binanceUp: [binance, binanceReference].some(block => block.traded(minute)),
    upbit: carriedLeg(upbit, minute),
    rate: carriedLeg(rate, minute),
    binance: carriedLeg(binance, minute),
  })
}

/** Without the minutes of an outage that may not be over: more than their own candles could still come. */
async function withoutOutages(
  minutes: readonly EpochMinute[],
  { rate, upbitReference, binanceReference }: SharedLegs,
  blocks: CandleBlocks,
): Promise<readonly EpochMinute[]> {
  const decidable: EpochMinute[] = []
  for (const minute of minutes) {
    const isUpbitUp = rate.traded(minute) || upbitReference.traded(minute)
    const isOver =
      (isUpbitUp || (await blocks.hasTradedSince('upbit', UPBIT_REFERENCE, minute))) &&
      (isCarried(rate, minute) || (await blocks.hasTradedSince('upbit', RATE_MARKET, minute))) &&
      (binanceReference.traded(minute) || (await blocks.hasTradedSince('binance', BINANCE_REFERENCE, minute)))
    if (isOver) decidable.push(minute)
  }
  return decidable
}

async function sharedLegs(minute: EpochMinute, blocks: CandleBlocks): Promise<SharedLegs> {
  const [rate, upbitReference, binanceReference] = await Promise.all([
    blocks.blockOf('upbit', RATE_MARKET, minute),
    blocks.blockOf('upbit', UPBIT_REFERENCE, minute),
    blocks.blockOf('binance', BINANCE_REFERENCE, minute),
  ])
  return { rate, upbitReference, binanceReference }
}

function isCarried(block: CandleBlock, minute: EpochMinute): boolean {
  const { tradedAt = Number.NEGATIVE_INFINITY } = carriedLeg(block, minute) ?? {}
  return minuteStart(minute) - tradedAt <= MAX_CARRY_MS
}

/**
 * The candle's start stands for its last trade: minutes are whole, so "at most 60 minutes before M" decides
 * the same for both.
 */
function carriedLeg(block: CandleBlock, minute: EpochMinute): Leg | undefined {
  const candle = block.lastTrade(minute)
  if (candle === undefined) return undefined
  const [openMinute, close] = candle
  return { price: close, tradedAt: minuteStart(openMinute), tradable: true }
}
