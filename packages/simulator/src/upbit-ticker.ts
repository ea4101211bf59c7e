import { marketState, reportedAt } from './market-state.ts'
import type { EpochMs, Market, Trade } from './types.ts'
import { compactDate, compactTime, dayStart, isoDate } from './utc.ts'
import type { World } from './world.ts'

type Json = string | number | boolean | null
/** One Upbit object by its full field names. */
export type UpbitObject = Readonly<Record<string, Json>>

const DAY = 86_400_000
const YEAR_DAYS = 364

/** Makes the ticker of a market after `trade`, without stream_type. @see exchange-protocols §1 */
export function createUpbitTicker(world: World): (market: Market, trade: Trade) => UpbitObject {
  const yearly = createYearRange(world)
  const closes = new Map<Market, { day: EpochMs; close: number }>()

  const previousClose = (market: Market, day: EpochMs, fallback: number): number => {
    const known = closes.get(market)
    if (known?.day === day) return known.close
    const close = world.prices.lastTrade('upbit', market.code, day)?.price ?? fallback
    closes.set(market, { day, close })
    return close
  }
  return (market, trade) => {
    const { at, price } = trade
    const day = dayStart(at)
    const close = previousClose(market, day, price)
    const stats = world.dayStats(market, at, trade)
    const state = marketState(world, market)
    const part = (at - day) / DAY
    return {
      type: 'ticker',
      code: market.code,
      opening_price: close,
      high_price: Math.max(stats.high, close),
      low_price: Math.min(stats.low, close),
      trade_price: price,
      prev_closing_price: close,
      acc_trade_price: stats.quoteVolume * part,
      ...changeFrom(close, price),
      ask_bid: trade.side,
      trade_volume: trade.volume,
      acc_trade_volume: round8(stats.volume * part),
      trade_date: compactDate(at),
      trade_time: compactTime(at),
      trade_timestamp: at,
      acc_ask_volume: round8(stats.volume * part * 0.48),
      acc_bid_volume: round8(stats.volume * part * 0.52),
      ...yearly(market, day, price),
      market_state: state,
      is_trading_suspended: state !== 'ACTIVE',
      delisting_date: state === 'DELISTED' ? isoDate(at) : null,
      market_warning: market.coin.upbit?.warning ? 'CAUTION' : 'NONE',
      timestamp: reportedAt(at),
      acc_trade_price_24h: stats.quoteVolume,
      acc_trade_volume_24h: round8(stats.volume),
    }
  }
}

/** Makes the frame of one trade, without stream_type. */
export function upbitTrade(world: World, market: Market, trade: Trade): UpbitObject {
  const { at, price } = trade
  const close = world.prices.lastTrade('upbit', market.code, dayStart(at))?.price ?? price
  const { change, change_price } = changeFrom(close, price)
  const iso = new Date(at).toISOString()
  const best = {
    best_ask_price: price,
    best_ask_size: trade.volume,
    best_bid_price: price,
    best_bid_size: trade.volume,
  }
  return {
    type: 'trade',
    code: market.code,
    timestamp: reportedAt(at),
    trade_date: iso.slice(0, 10),
    trade_time: iso.slice(11, 19),
    trade_timestamp: at,
    trade_price: price,
    trade_volume: trade.volume,
    ask_bid: trade.side,
    prev_closing_price: close,
    change: change ?? 'EVEN',
    change_price: change_price ?? 0,
    sequential_id: at * 10_000,
    ...best,
  }
}

function changeFrom(close: number, price: number): UpbitObject {
  const step = round8(price - close)
  const rate = Number((step / close).toFixed(10))
  return {
    change: step > 0 ? 'RISE' : step < 0 ? 'FALL' : 'EVEN',
    change_price: Math.abs(step),
    signed_change_price: step,
    change_rate: Math.abs(rate),
    signed_change_rate: rate,
  }
}

interface YearRange {
  readonly day: EpochMs
  readonly highest: Point
  readonly lowest: Point
}

type Point = Pick<Trade, 'at' | 'price'>

function createYearRange(world: World): (market: Market, day: EpochMs, price: number) => UpbitObject {
  const ranges = new Map<Market, YearRange>()
  return (market, day, price) => {
    let range = ranges.get(market)
    if (range?.day !== day) {
      range = yearRange(world, market, day, price)
      ranges.set(market, range)
    }
    const highest = price > range.highest.price ? { at: day, price } : range.highest
    const lowest = price < range.lowest.price ? { at: day, price } : range.lowest
    return {
      highest_52_week_price: highest.price,
      highest_52_week_date: isoDate(highest.at),
      lowest_52_week_price: lowest.price,
      lowest_52_week_date: isoDate(lowest.at),
    }
  }
}

/** Highest and lowest of one price a week. */
function yearRange(world: World, market: Market, day: EpochMs, price: number): YearRange {
  let highest: Point = { at: day, price }
  let lowest = highest
  for (let at = day - YEAR_DAYS * DAY; at < day; at += 7 * DAY) {
    const trade = world.prices.lastTrade('upbit', market.code, at)
    if (trade && trade.price > highest.price) highest = trade
    if (trade && trade.price < lowest.price) lowest = trade
  }
  return { day, highest, lowest }
}

function round8(value: number): number {
  return Math.round(value * 1e8) / 1e8
}
