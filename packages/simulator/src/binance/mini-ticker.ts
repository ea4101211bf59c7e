import { withFaultyPrice } from '../faults/faulty-price.ts'
import { hash, keyOf } from '../market/hash.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { binanceStatus, listedMarket } from '../market/states.ts'
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

/** What is due on a stream in [from, to); nothing on a stream that is not simulated. @see docs/exchanges.md#binance-websocket */
export type DueFrames = (stream: string, from: EpochMs, to: EpochMs) => DueFrame[]

/** The miniTicker streams of all markets. */
export function createMiniTickers(exchanges: SimulatedExchanges): DueFrames {
  const rollingVolume = createRollingVolume(exchanges.prices)
  const payload = (market: Market, at: EpochMs): object | undefined => {
    const last = exchanges.prices.lastTrade('binance', market.code, at)
    if (!last) return undefined
    const { price } = last
    const open = market.coin.price * market.multiplier
    const volume = rollingVolume(market, at)
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
    return withFaultyPrice(exchanges, market, ticker, 'c')
  }
  return (stream, from, to) => {
    const name = NAME.exec(stream)?.[1]
    const market = name && listedMarket(exchanges, 'binance', name.toUpperCase())
    if (!market || binanceStatus(exchanges, market) !== 'TRADING') return []
    return secondsBetween(from, to, phaseOf(market))
      .filter(at => statsChanged(exchanges, market, at))
      .map(at => ({ at, stream, market, payload: () => payload(market, at) }))
  }
}

/** Whether the 24-hour figures changed in the second before `at`: a trade came in, or one left the window. */
function statsChanged({ prices, faults }: SimulatedExchanges, { code }: Market, at: EpochMs): boolean {
  if (faults.pauses.find('binance', code, at)) return false
  const from = at - SECOND
  return prices.traded('binance', code, from, at) || prices.traded('binance', code, from - DAY, at - DAY)
}

/** The millisecond of every second at which a market's figures are sent. */
function phaseOf({ code }: Market): number {
  return hash(keyOf(code), 1) % SECOND
}

/** Instants in [from, to) that lie `phase` milliseconds after a full second. */
function secondsBetween(from: EpochMs, to: EpochMs, phase: number): EpochMs[] {
  const instants: EpochMs[] = []
  for (let at = Math.ceil((from - phase) / SECOND) * SECOND + phase; at < to; at += SECOND) instants.push(at)
  return instants
}
