import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { usdtTickSize } from '../market/tick-size.ts'
import type { BinanceStatus, Listing } from '../market/types.ts'

/** Binance's word for the market's state now. */
export function binanceStatus({ clock, faults }: SimulatedExchanges, listing: Listing): BinanceStatus {
  const { market, coin } = listing
  const halt = faults.find('halt', { exchange: 'binance', market, at: clock.now() })
  return halt ? 'BREAK' : (coin.binance?.status ?? 'TRADING')
}

const PRECISIONS = ['baseAsset', 'quote', 'quoteAsset', 'baseCommission', 'quoteCommission'].map(
  name => `${name}Precision`,
)
/** Binance says `true` for these, even of symbols that do not trade (recorded). */
const ALLOWED = ['iceberg', 'oco', 'quoteOrderQtyMarket', 'isSpotTrading'].map(name => `${name}Allowed`)

/** One entry of exchangeInfo's `symbols`. @see docs/exchanges.md#binance-rest */
export function symbolEntry(exchanges: SimulatedExchanges, listing: Listing): object {
  return {
    symbol: listing.market,
    status: binanceStatus(exchanges, listing),
    baseAsset: listing.asset,
    quoteAsset: 'USDT',
    ...Object.fromEntries(PRECISIONS.map(name => [name, 8])),
    ...Object.fromEntries(ALLOWED.map(name => [name, true])),
    orderTypes: ['LIMIT', 'LIMIT_MAKER', 'MARKET', 'STOP_LOSS_LIMIT', 'TAKE_PROFIT_LIMIT'],
    isMarginTradingAllowed: false,
    filters: filtersOf(listing),
    permissions: [],
    permissionSets: [['SPOT', 'MARGIN']],
  }
}

function filtersOf({ coin }: Listing): object[] {
  const tickSize = decimal(usdtTickSize(coin.price))
  const stepSize = decimal(coin.price > 1 ? 0.00001 : 1)
  return [
    { filterType: 'PRICE_FILTER', minPrice: tickSize, maxPrice: '1000000.00000000', tickSize },
    { filterType: 'LOT_SIZE', minQty: stepSize, maxQty: '9000000.00000000', stepSize },
  ]
}

/** A price or volume as Binance writes it: a decimal string with eight digits behind the point. */
export function decimal(value: number): string {
  return value.toFixed(8)
}
