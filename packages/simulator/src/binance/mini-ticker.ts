import { withFaultyPrice } from '../faults/faulty-price.ts'
import { PAUSES } from '../faults/timeline.ts'
import { hash, keyOf } from '../market/hash.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { listedMarket } from '../market/states.ts'
import type { EpochMs, Market } from '../market/types.ts'
import { decimal } from './decimal.ts'
import { createRollingVolume } from './rolling-volume.ts'

/** One miniTicker frame that is due. */
export interface DueFrame {
  readonly at: EpochMs
  readonly stream: string
  readonly market: Market
  /** Makes the payload, with the price that a fault asks for; undefined before the market's first trade. */
  readonly payload: () => object | undefined
}

const SECOND = 1_000
const DAY = 86_400_000
const NAME = /^([^@A-Z]+)@miniTicker$/

/**
 * What is due on a stream in [from, to); nothing on a stream that is not simulated.
 * @see docs/exchanges.md#binance-websocket
 */
export type DueFrames = (stream: string, from: EpochMs, to: EpochMs) => DueFrame[]

/** The miniTicker streams of all markets. */
export function createMiniTickers(exchanges: SimulatedExchanges): DueFrames {
  const { prices, faults } = exchanges
  const rollingVolume = createRollingVolume(prices)
  const payload = (market: Market, at: EpochMs): object | undefined => {
    const known = at - lagOf(exchanges, market, at)
    const price = prices.lastTrade('binance', market.code, known)?.price
    if (price === undefined) return undefined
    const open = market.coin.price * market.multiplier
    const volume = rollingVolume(market, known)
    const ticker = {
      e: '24hrMiniTicker',
      E: at,
      s: market.code,
      c: decimal(price),
      o: decimal(open),
      h: decimal(Math.max(open, price)),
      l: decimal(Math.min(open, price)),
      v: decimal(volume),
      q: decimal(volume * open),
    }
    return withFaultyPrice(faults, market, ticker, 'c')
  }
  return (stream, from, to) => {
    const name = NAME.exec(stream)?.[1]
    const market = name && listedMarket(exchanges, 'binance', name.toUpperCase())
    if (!market || (market.coin.binance?.status ?? 'TRADING') !== 'TRADING') return []
    const due: DueFrame[] = []
    for (let at = newestInstant(market, to); at >= from; at -= SECOND) {
      if (isDue(exchanges, market, at))
        due.unshift({ at, stream, market, payload: () => payload(market, at) })
    }
    return due
  }
}

/**
 * The event time and price of the newest miniTicker with `E` before an instant, received by anyone or not.
 */
export function lastMiniTicker(
  exchanges: SimulatedExchanges,
  code: string,
  before: EpochMs,
): { readonly eventAt: EpochMs; readonly price: number } | undefined {
  const market = exchanges.markets.get('binance', code)
  if (!market) return undefined
  for (let at = newestInstant(market, before); at > before - DAY; at -= SECOND) {
    if (!isDue(exchanges, market, at)) continue
    const last = exchanges.prices.lastTrade('binance', code, at - lagOf(exchanges, market, at))
    if (last) return { eventAt: at, price: last.price }
  }
  return undefined
}

/**
 * Whether a frame is sent at `at`: a trade came in during the second before, or one left the 24-hour window.
 */
function isDue(exchanges: SimulatedExchanges, market: Market, at: EpochMs): boolean {
  const { prices, faults } = exchanges
  const pause = faults.timeline.find(PAUSES, 'binance', market.code, at)
  if (pause && !pause.rolling) return false
  const known = at - lagOf(exchanges, market, at)
  const traded = (to: EpochMs): boolean => prices.traded('binance', market.code, to - SECOND, to)
  return traded(known) || traded(known - DAY)
}

function lagOf({ faults }: SimulatedExchanges, { code }: Market, at: EpochMs): number {
  return faults.timeline.find(['lag'], 'binance', code, at)?.maxMs ?? 0
}

/**
 * The newest instant before `to` at which the market's frames are sent: every second at a millisecond of its
 * own.
 */
function newestInstant({ code }: Market, to: EpochMs): EpochMs {
  const phase = hash(keyOf(code), 1) % SECOND
  return Math.ceil((to - phase) / SECOND) * SECOND - SECOND + phase
}
