import {
  type Coin,
  type EpochMinute,
  type Exchange,
  type Gap,
  MAX_CARRY_MS,
  type Market,
  MINUTE_MS,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Sample,
} from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'
import type { CandleBook } from './candle-book.ts'
import { candleSampleOrGap } from './candle-samples.ts'
import type { CandleSeries } from './candle-series.ts'

/** The most candles that one answer holds. @see docs/exchanges.md#upbit-rest */
export const PAGE_MINUTES: Readonly<Record<Exchange, number>> = { upbit: 200, binance: 1_000 }

const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS
const [UPBIT_REFERENCE = RATE_MARKET] = REFERENCE_MARKETS.upbit
const [BINANCE_REFERENCE = ''] = REFERENCE_MARKETS.binance

/** What candles say about some minutes of a coin: each is a sample or a gap. */
export interface Decided {
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gap[]
}

/**
 * Decides minutes of one coin from candles.
 * @param minutes ascending, none further than a page of Upbit's candles from the last
 * @param oldest the oldest minute of the coin that will be asked for soon: a page that is fetched anyway reaches towards it
 */
export async function decideMinutes(
  coin: Coin,
  minutes: readonly EpochMinute[],
  oldest: EpochMinute,
  book: CandleBook,
): Promise<Decided> {
  const [first = 0, last = 0] = [minutes[0], minutes.at(-1)]
  // The sample of M needs the candles that open before M, from M − 60 s on.
  const opens = { start: first - 1, end: last }
  const [rate, upbitReference, upbit, binanceReference, binance] = await Promise.all([
    upbitSeries(RATE_MARKET, fullPage('upbit', opens), book),
    book.series('upbit', UPBIT_REFERENCE, fullPage('upbit', opens)),
    upbitSeries(coin.upbit, opens, book),
    book.series('binance', BINANCE_REFERENCE, fullPage('binance', opens)),
    book.series('binance', coin.binance, binanceOpens(opens, oldest)),
  ])
  const legs = { rate, upbitReference, upbit, binanceReference, binance }
  const samples: Sample[] = []
  const gaps: Gap[] = []
  for (const minute of minutes) {
    const outcome = candleSampleOrGap(coin.symbol, minute, legs)
    if (typeof outcome === 'string') gaps.push({ symbol: coin.symbol, minute, reason: outcome })
    else samples.push(outcome)
  }
  return { samples, gaps }
}

/** Whether the markets that always trade say of all these minutes that an exchange was down; asks for no coin's candles. */
export async function isDownThroughout(minutes: readonly EpochMinute[], book: CandleBook): Promise<boolean> {
  const opens = { start: (minutes[0] ?? 0) - 1, end: minutes.at(-1) ?? 0 }
  const [rate, upbit, binance] = await Promise.all([
    book.series('upbit', RATE_MARKET, fullPage('upbit', opens)),
    book.series('upbit', UPBIT_REFERENCE, fullPage('upbit', opens)),
    book.series('binance', BINANCE_REFERENCE, fullPage('binance', opens)),
  ])
  return minutes.every(minute => {
    const open = minute - 1
    return !(rate.traded(open) || upbit.traded(open)) || !binance.traded(open)
  })
}

/**
 * A page of Upbit's candles reaches back to the last trades that there are, so the trade to carry is nearly always in
 * it. Where nothing traded in all of it, the hour before is asked for.
 */
async function upbitSeries(market: Market, opens: MinuteRange, book: CandleBook): Promise<CandleSeries> {
  const series = await book.series('upbit', market, opens)
  if (series.lastTradedBefore(opens.start + 1) !== undefined) return series
  return book.series('upbit', market, { start: opens.start + 1 - CARRY_MINUTES, end: opens.end })
}

/** Binance writes candles without a trade, so the hour of a carried price is always asked for. */
function binanceOpens({ start, end }: MinuteRange, oldest: EpochMinute): MinuteRange {
  const needed = start + 1 - CARRY_MINUTES
  return { start: Math.min(needed, Math.max(oldest - CARRY_MINUTES, end - PAGE_MINUTES.binance)), end }
}

/** Shared markets are asked for in full pages: another coin will want the rest. */
function fullPage(exchange: Exchange, { start, end }: MinuteRange): MinuteRange {
  return { start: Math.min(start, end - PAGE_MINUTES[exchange]), end }
}
