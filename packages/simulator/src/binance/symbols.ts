import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { binanceStatus } from '../market/states.ts'
import type { Market } from '../market/types.ts'
import { decimal } from './decimal.ts'

/** One entry of exchangeInfo's `symbols`. @see docs/exchanges.md#binance-rest */
export function symbolEntry(exchanges: SimulatedExchanges, market: Market): object {
  return {
    symbol: market.code,
    status: binanceStatus(exchanges, market),
    baseAsset: market.base,
    baseAssetPrecision: 8,
    quoteAsset: market.quote,
    quotePrecision: 8,
    quoteAssetPrecision: 8,
    baseCommissionPrecision: 8,
    quoteCommissionPrecision: 8,
    orderTypes: ['LIMIT', 'LIMIT_MAKER', 'MARKET', 'STOP_LOSS_LIMIT', 'TAKE_PROFIT_LIMIT'],
    icebergAllowed: true,
    ocoAllowed: true,
    quoteOrderQtyMarketAllowed: true,
    // Also of symbols that do not trade, as recorded.
    isSpotTradingAllowed: true,
    isMarginTradingAllowed: false,
    filters: filtersOf(market),
    permissions: [],
    permissionSets: [['SPOT', 'MARGIN']],
  }
}

/** The limits that exchangeInfo states. */
export const RATE_LIMITS: readonly object[] = [
  { rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: 6_000 },
  { rateLimitType: 'RAW_REQUESTS', interval: 'MINUTE', intervalNum: 5, limit: 300_000 },
]

function filtersOf({ tickSize, coin }: Market): object[] {
  const [minPrice, minQty] = [decimal(tickSize), decimal(coin.price > 1 ? 0.00001 : 1)]
  return [
    { filterType: 'PRICE_FILTER', minPrice, maxPrice: '1000000.00000000', tickSize: minPrice },
    { filterType: 'LOT_SIZE', minQty, maxQty: '9000000.00000000', stepSize: minQty },
  ]
}
