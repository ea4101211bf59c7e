import {
  type BinanceEvent,
  fullTicker,
  miniTicker,
  statsChanged,
  tickerPhase,
  tradeEvent,
} from './binance-ticker.ts'
import { isTrading, withFaultyPrice } from './market-state.ts'
import type { EpochMs, Market } from './types.ts'
import type { World } from './world.ts'

/** One frame that is due. */
export interface DueFrame {
  readonly at: EpochMs
  readonly stream: string
  /** Undefined for a frame of many markets. */
  readonly market: Market | undefined
  /** Makes the payload as the faults leave it; undefined when nothing is to be sent. */
  readonly payload: () => BinanceEvent | readonly BinanceEvent[] | undefined
}

const ALL_MINI = '!miniTicker@arr'

/** What is due on `stream` in [from, to); nothing for a stream that does not exist. @see exchange-protocols §3 */
export function dueFrames(world: World, stream: string, from: EpochMs, to: EpochMs): DueFrame[] {
  if (stream === ALL_MINI) {
    return secondsBetween(from, to, 0).map(at => ({
      at,
      stream,
      market: undefined,
      payload: () => allMini(world, at),
    }))
  }
  const [name = '', channel] = stream.split('@')
  const market = world.markets.get('binance', name.toUpperCase())
  if (!market || name !== name.toLowerCase() || !isTrading(world, market)) return []
  if (channel === 'trade') {
    const trades = world.prices.trades('binance', market.code, from, to)
    return trades.map(trade => ({
      at: trade.at,
      stream,
      market,
      payload: () => asFaultsLeaveIt(world, market, tradeEvent(market, trade), 'p'),
    }))
  }
  const make = channel === 'miniTicker' ? miniTicker : channel === 'ticker' ? fullTicker : undefined
  if (!make) return []
  const changes = secondsBetween(from, to, tickerPhase(market.code)).filter(at =>
    statsChanged(world, market.code, at),
  )
  return changes.map(at => ({
    at,
    stream,
    market,
    payload: () => asFaultsLeaveIt(world, market, make(world, market, at), 'c'),
  }))
}

function allMini(world: World, at: EpochMs): BinanceEvent[] | undefined {
  const events: BinanceEvent[] = []
  for (const market of world.markets.all('binance')) {
    if (!isTrading(world, market) || !statsChanged(world, market.code, at)) continue
    const event = asFaultsLeaveIt(world, market, miniTicker(world, market, at), 'c')
    if (event) events.push(event)
  }
  return events.length > 0 ? events : undefined
}

/** The event without change, with a wrong price in the field `key`, or nothing when the market is silenced. */
function asFaultsLeaveIt(
  world: World,
  market: Market,
  event: BinanceEvent | undefined,
  key: string,
): BinanceEvent | undefined {
  const silenced = world.faults.find('silence', { exchange: 'binance', market: market.code })
  if (silenced) world.faults.spend(silenced)
  return silenced || !event ? undefined : withFaultyPrice(world, market, event, key)
}

/** Instants in [from, to) that lie `phase` milliseconds after a full second. */
function secondsBetween(from: EpochMs, to: EpochMs, phase: number): EpochMs[] {
  const instants: EpochMs[] = []
  for (let at = Math.ceil((from - phase) / 1_000) * 1_000 + phase; at < to; at += 1_000) instants.push(at)
  return instants
}
