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

/** Upbit's words for the market's state now. */
export function upbitState(
  { clock, faults }: SimulatedExchanges,
  { code }: Market,
): { readonly state: UpbitState; readonly suspended: boolean } {
  const halt = faults.timeline.find(['halt'], 'upbit', code, clock.now())
  return {
    state: halt ? (halt.state ?? 'PREVIEW') : 'ACTIVE',
    suspended: halt?.suspended ?? halt !== undefined,
  }
}

/** Binance's word for the market's state now. */
export function binanceStatus({ clock, faults }: SimulatedExchanges, { code, coin }: Market): BinanceStatus {
  const halt = faults.timeline.find(['halt'], 'binance', code, clock.now())
  return halt ? (halt.status ?? 'BREAK') : (coin.binance?.status ?? 'TRADING')
}

function isListed({ faults }: SimulatedExchanges, { exchange, code }: Market): boolean {
  return !faults.find('delist', { exchange, market: code })
}
