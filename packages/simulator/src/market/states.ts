import type { SimulatedExchanges } from './simulated-exchanges.ts'
import type { BinanceStatus, Exchange, Market, UpbitState } from './types.ts'

/** Markets that the exchange still lists. */
export function listedMarkets(exchanges: SimulatedExchanges, exchange: Exchange): readonly Market[] {
  return exchanges.markets.all(exchange).filter(market => isListed(exchanges, market))
}

/** The listed market of that code. */
export function listedMarket(
  exchanges: SimulatedExchanges,
  exchange: Exchange,
  code: string,
): Market | undefined {
  const market = exchanges.markets.get(exchange, code)
  return market && isListed(exchanges, market) ? market : undefined
}

/** Upbit's word for the market's state. */
export function upbitState({ clock, faults }: SimulatedExchanges, market: Market): UpbitState {
  const halt = faults.pauses.find('upbit', market.code, clock.now(), 'halt')
  return halt ? (halt.state ?? 'PREVIEW') : 'ACTIVE'
}

/** Binance's word for the market's state. */
export function binanceStatus({ clock, faults }: SimulatedExchanges, market: Market): BinanceStatus {
  const halt = faults.pauses.find('binance', market.code, clock.now(), 'halt')
  return halt ? 'BREAK' : (market.coin.binance?.status ?? 'TRADING')
}

function isListed({ faults }: SimulatedExchanges, { exchange, code }: Market): boolean {
  return !faults.find('delist', { exchange, market: code })
}
