import { fraction } from './hash.ts'
import type { EpochMs, Exchange, Market } from './types.ts'
import type { World } from './world.ts'

/** Markets that the exchange still names in its lists. */
export function listedMarkets(world: World, exchange: Exchange): readonly Market[] {
  return world.markets.all(exchange).filter(market => isListed(world, market))
}

/** Whether the market exists for clients at this moment. */
export function isListed(world: World, market: Market): boolean {
  if (market.listedAt > world.clock.now()) return false
  return !world.faults.find('delist', { exchange: market.exchange, market: market.code })
}

/** Whether the market trades: listed, not halted, and open by its own listing. */
export function isTrading(world: World, market: Market): boolean {
  return marketState(world, market) === 'ACTIVE' && isListed(world, market)
}

/** Upbit's word for the market's state; Binance's BREAK counts as PREVIEW. */
export function marketState(world: World, market: Market): 'PREVIEW' | 'ACTIVE' | 'DELISTED' {
  const halt = world.faults.find('halt', { exchange: market.exchange, market: market.code })
  if (halt) return halt.fault.state ?? 'PREVIEW'
  if (market.exchange === 'upbit') return market.coin.upbit?.state ?? 'ACTIVE'
  return (market.coin.binance?.status ?? 'TRADING') === 'TRADING' ? 'ACTIVE' : 'PREVIEW'
}

/**
 * `payload` with the price that a fault asks for in the field `key`. A number becomes a decimal string where the
 * exchange sends strings; anything else is put in as it is.
 */
export function withFaultyPrice<T extends object>(world: World, market: Market, payload: T, key: keyof T): T {
  const active = world.faults.find('price', { exchange: market.exchange, market: market.code })
  if (!active) return payload
  world.faults.spend(active)
  const { value, factor = 1 } = active.fault
  const { [key]: price, ...rest } = payload
  if (value === 'missing') return rest as T
  const faulty = value === undefined ? Number(price) * factor : value
  const asText = typeof faulty === 'number' && typeof price === 'string'
  return { ...payload, [key]: asText ? faulty.toFixed(8) : faulty }
}

/** The moment, up to 8 ms later, at which the exchange reports something that happened at `at`. */
export function reportedAt(at: EpochMs): EpochMs {
  return at + 1 + Math.floor(fraction(0x7f4a7c15, at) * 8)
}
