import { hash, keyOf } from './hash.ts'
import { reportedAt } from './market-state.ts'
import type { EpochMs, Market, Trade } from './types.ts'
import type { World } from './world.ts'

/** One Binance event by its one-letter field names. */
export type BinanceEvent = Readonly<Record<string, string | number | boolean>>

const DAY = 86_400_000

/** The millisecond of every second at which the market's statistics are sent. */
export function tickerPhase(code: string): number {
  return hash(keyOf(code), 1) % 1_000
}

/** Whether the 24-hour statistics changed in the second before `at`: a trade came in, or one fell out of the window. */
export function statsChanged(world: World, code: string, at: EpochMs): boolean {
  const from = at - 1_000
  return (
    world.prices.traded('binance', code, from, at) ||
    world.prices.traded('binance', code, from - DAY, at - DAY)
  )
}

/** The 24hrMiniTicker of a market at `at`. @see exchange-protocols §3 */
export function miniTicker(world: World, market: Market, at: EpochMs): BinanceEvent | undefined {
  const last = world.prices.lastTrade('binance', market.code, at)
  if (!last) return undefined
  const stats = world.dayStats(market, at, last)
  return {
    e: '24hrMiniTicker',
    E: at,
    s: market.code,
    c: decimal(last.price),
    o: decimal(stats.open),
    h: decimal(stats.high),
    l: decimal(stats.low),
    v: decimal(stats.volume),
    q: decimal(stats.quoteVolume),
  }
}

/** The 24hrTicker of a market at `at`. */
export function fullTicker(world: World, market: Market, at: EpochMs): BinanceEvent | undefined {
  const last = world.prices.lastTrade('binance', market.code, at)
  if (!last) return undefined
  const stats = world.dayStats(market, at, last)
  const step = last.price - stats.open
  return {
    e: '24hrTicker',
    E: at,
    s: market.code,
    p: decimal(step),
    P: ((step / stats.open) * 100).toFixed(3),
    w: decimal(stats.quoteVolume / stats.volume),
    x: decimal(stats.open),
    c: decimal(last.price),
    Q: decimal(last.volume),
    b: decimal(last.price),
    B: decimal(last.volume),
    a: decimal(last.price),
    A: decimal(last.volume),
    o: decimal(stats.open),
    h: decimal(stats.high),
    l: decimal(stats.low),
    v: decimal(stats.volume),
    q: decimal(stats.quoteVolume),
    O: at - DAY,
    C: at,
    F: last.sequence - stats.trades,
    L: last.sequence,
    n: stats.trades,
  }
}

/** The trade event. */
export function tradeEvent(market: Market, trade: Trade): BinanceEvent {
  return {
    e: 'trade',
    E: reportedAt(trade.at),
    s: market.code,
    t: trade.sequence,
    p: decimal(trade.price),
    q: decimal(trade.volume),
    T: trade.at,
    m: trade.side === 'ASK',
    M: true,
  }
}

/** A price or volume as Binance writes it: a decimal string with eight digits behind the point. */
export function decimal(value: number): string {
  return value.toFixed(8)
}
