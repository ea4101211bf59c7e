import { hash, keyOf } from '../market/hash.ts'
import type { Prices } from '../market/prices.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { meanVolume } from '../market/trades.ts'
import type { EpochMs, Market } from '../market/types.ts'
import { decimal } from './symbols.ts'

/** The event time of a frame, and its price. */
export interface LastFrame {
  readonly eventAt: EpochMs
  readonly price: number
}

/** One miniTicker frame that is due. */
export interface DueFrame extends LastFrame {
  readonly stream: string
  readonly market: Market
}

const SECOND = 1_000
const DAY = 86_400_000
const NAME = /^([^@A-Z]+)@miniTicker$/

/**
 * The miniTicker streams of all markets; `v` is true, `o`, `h`, `l` and `q` have the right shape only.
 * @see docs/exchanges.md#binance-websocket
 */
export function createMiniTickers(exchanges: SimulatedExchanges) {
  const rollingVolume = createRollingVolume(exchanges.prices)
  return {
    /** What is due on a stream in [from, to); nothing on a stream that is not simulated. */
    due(stream: string, from: EpochMs, to: EpochMs): DueFrame[] {
      const name = NAME.exec(stream)?.[1]
      const market = name && exchanges.markets.listed('binance', name.toUpperCase())
      if (!market || (market.coin.binance?.status ?? 'TRADING') !== 'TRADING') return []
      return [...framesOf(exchanges, market, from, to)].map(frame => ({ ...frame, stream, market }))
    },
    /** The payload of a frame, with the price that a fault asks for. */
    payload({ eventAt, market, price }: DueFrame): object {
      const target = { exchange: 'binance', market: market.code, at: eventAt } as const
      const c = decimal(price * (exchanges.faults.use('price', target)?.fault.factor ?? 1))
      const [o, v] = [decimal(price), decimal(rollingVolume(market, eventAt))]
      return { e: '24hrMiniTicker', E: eventAt, s: market.code, c, o, h: o, l: o, v, q: v }
    },
  }
}

/** Event time and price of the newest miniTicker with `E` before an instant, received by anyone or not. */
export function lastMiniTicker(
  exchanges: SimulatedExchanges,
  code: string,
  before: EpochMs,
): LastFrame | undefined {
  const market = exchanges.markets.get('binance', code)
  if (!market) return undefined
  const [newest] = framesOf(exchanges, market, before - DAY, before)
  return newest
}

/** The frames of a market with `E` in [from, to), the newest first. */
function* framesOf(
  exchanges: SimulatedExchanges,
  market: Market,
  from: EpochMs,
  to: EpochMs,
): Generator<LastFrame> {
  for (let eventAt = newestInstant(market, to); eventAt >= from; eventAt -= SECOND) {
    const price = framePrice(exchanges, market, eventAt)
    if (price !== undefined) yield { eventAt, price }
  }
}

/** The price of a frame, if one is due: a trade came in the second before, or one left the 24-hour window. */
function framePrice({ prices, faults }: SimulatedExchanges, { code }: Market, at: EpochMs) {
  if (faults.pauseAt({ exchange: 'binance', market: code, at })) return undefined
  const traded = (to: EpochMs): boolean => prices.traded('binance', code, to - SECOND, to)
  return traded(at) || traded(at - DAY) ? prices.lastTrade('binance', code, at)?.price : undefined
}

/** The newest instant before `to` for a frame: every market has a millisecond of its own in each second. */
function newestInstant({ code }: Market, to: EpochMs): EpochMs {
  const phase = hash(keyOf(code), 1) % SECOND
  return Math.ceil((to - phase) / SECOND) * SECOND - SECOND + phase
}

/**
 * The volume of the last 24 hours before `at`, in the base coin. It begins at a typical level; from then on
 * it rises by every trade and falls by every trade that leaves the window, and by nothing else.
 */
function createRollingVolume(prices: Prices): (market: Market, at: EpochMs) => number {
  const known = new Map<Market, { at: EpochMs; volume: number }>()
  const sum = (market: Market, from: EpochMs, to: EpochMs): number =>
    prices.trades('binance', market.code, from, to).reduce((total, { volume }) => total + volume, 0)
  return (market, at) => {
    const before = known.get(market)
    const typical = market.tradesPerMinute * 1_440 * meanVolume(market)
    const isFresh = !before || at < before.at || at - before.at > DAY
    const volume = isFresh
      ? typical
      : before.volume + sum(market, before.at, at) - sum(market, before.at - DAY, at - DAY)
    known.set(market, { at, volume: Math.max(0, volume) })
    return Math.max(0, volume)
  }
}
