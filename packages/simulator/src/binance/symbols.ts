import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { BinanceStatus, Listing } from '../market/types.ts'

/** Binance's word for the market's state now. */
export function binanceStatus({ clock, faults }: SimulatedExchanges, listing: Listing): BinanceStatus {
  const { market, coin } = listing
  const halt = faults.find('halt', { exchange: 'binance', market, at: clock.now() })
  return halt ? 'BREAK' : (coin.binance?.status ?? 'TRADING')
}

/** One entry of exchangeInfo's `symbols`, without what is said of orders. @see docs/exchanges.md#binance-rest */
export function symbolEntry(exchanges: SimulatedExchanges, listing: Listing): object {
  return {
    symbol: listing.market,
    status: binanceStatus(exchanges, listing),
    baseAsset: listing.asset,
    quoteAsset: 'USDT',
    // Also of symbols that do not trade (recorded).
    isSpotTradingAllowed: true,
  }
}

/** A price or volume as Binance writes it: a decimal string with eight digits behind the point. */
export function decimal(value: number): string {
  return value.toFixed(8)
}
