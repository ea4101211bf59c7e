import {
  type Coin,
  type EpochMinute,
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

const CARRY_MINUTES = MAX_CARRY_MS / MINUTE_MS

/** Of shared markets another coin will want the rest of a page. */
const WHOLE_PAGES = Number.NEGATIVE_INFINITY

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
 * @param oldest the oldest minute of the coin that will be asked for soon: a page that is fetched anyway
 * reaches towards it
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
    upbitSeries(RATE_MARKET, opens, book, WHOLE_PAGES),
    book.series('upbit', UPBIT_REFERENCE, opens, WHOLE_PAGES),
    upbitSeries(coin.upbit, opens, book, oldest - 1),
    book.series('binance', BINANCE_REFERENCE, opens, WHOLE_PAGES),
    // Binance writes candles without a trade, so the hour of a carried price is always asked for.
    book.series('binance', coin.binance, withCarry(opens), oldest - CARRY_MINUTES),
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

/**
 * Whether the markets that always trade say of all these minutes that an exchange was down; asks for no
 * coin's candles.
 */
export async function isDownThroughout(minutes: readonly EpochMinute[], book: CandleBook): Promise<boolean> {
  const opens = { start: (minutes[0] ?? 0) - 1, end: minutes.at(-1) ?? 0 }
  const [rate, upbit, binance] = await Promise.all([
    book.series('upbit', RATE_MARKET, opens, WHOLE_PAGES),
    book.series('upbit', UPBIT_REFERENCE, opens, WHOLE_PAGES),
    book.series('binance', BINANCE_REFERENCE, opens, WHOLE_PAGES),
  ])
  return minutes.every(minute => {
    const open = minute - 1
    return !(rate.traded(open) || upbit.traded(open)) || !binance.traded(open)
  })
}

/**
 * A page of Upbit's candles reaches back to the last trades that there are, so the trade to carry is nearly
 * always in it. Where nothing traded in all of it, the hour before is asked for.
 */
async function upbitSeries(
  market: Market,
  opens: MinuteRange,
  book: CandleBook,
  reach: EpochMinute,
): Promise<CandleSeries> {
  const series = await book.series('upbit', market, opens, reach)
  if (series.lastTradedBefore(opens.start + 1) !== undefined) return series
  return book.series('upbit', market, withCarry(opens))
}

function withCarry({ start, end }: MinuteRange): MinuteRange {
  return { start: start + 1 - CARRY_MINUTES, end }
}
