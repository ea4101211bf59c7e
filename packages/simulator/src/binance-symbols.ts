import { decimal } from './binance-ticker.ts'
import { isListed, marketState } from './market-state.ts'
import type { Market } from './types.ts'
import type { World } from './world.ts'

/** Binance's word for the market's state. */
export function binanceStatus(world: World, market: Market): string {
  const isHalted = world.faults.find('halt', { exchange: 'binance', market: market.code }) !== undefined
  if (isHalted || !isListed(world, market)) return 'BREAK'
  return marketState(world, market) === 'ACTIVE' ? 'TRADING' : (market.coin.binance?.status ?? 'BREAK')
}

/** One entry of exchangeInfo's `symbols`. @see exchange-protocols §4 */
export function symbolEntry(world: World, market: Market, showPermissionSets: boolean): object {
  const status = binanceStatus(world, market)
  return {
    symbol: market.code,
    status,
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
    otoAllowed: true,
    quoteOrderQtyMarketAllowed: true,
    allowTrailingStop: true,
    cancelReplaceAllowed: true,
    amendAllowed: true,
    pegInstructionsAllowed: true,
    isSpotTradingAllowed: status === 'TRADING',
    isMarginTradingAllowed: false,
    filters: filtersOf(market),
    permissions: [],
    ...(showPermissionSets ? { permissionSets: [['SPOT', 'MARGIN']] } : {}),
    defaultSelfTradePreventionMode: 'EXPIRE_MAKER',
    allowedSelfTradePreventionModes: ['EXPIRE_TAKER', 'EXPIRE_MAKER', 'EXPIRE_BOTH', 'DECREMENT'],
  }
}

/** The limits that exchangeInfo states. */
export const RATE_LIMITS: readonly object[] = [
  { rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: 6_000 },
  { rateLimitType: 'ORDERS', interval: 'SECOND', intervalNum: 10, limit: 100 },
  { rateLimitType: 'ORDERS', interval: 'DAY', intervalNum: 1, limit: 200_000 },
  { rateLimitType: 'RAW_REQUESTS', interval: 'MINUTE', intervalNum: 5, limit: 300_000 },
]

function filtersOf(market: Market): object[] {
  const tickSize = decimal(market.tickSize)
  const stepSize = decimal(market.coin.price > 100 ? 0.00001 : market.coin.price > 1 ? 0.01 : 1)
  const aroundPrice = {
    bidMultiplierUp: '5',
    bidMultiplierDown: '0.2',
    askMultiplierUp: '5',
    askMultiplierDown: '0.2',
  }
  return [
    { filterType: 'PRICE_FILTER', minPrice: tickSize, maxPrice: '1000000.00000000', tickSize },
    { filterType: 'LOT_SIZE', minQty: stepSize, maxQty: '9000000.00000000', stepSize },
    { filterType: 'ICEBERG_PARTS', limit: 100 },
    {
      filterType: 'MARKET_LOT_SIZE',
      minQty: '0.00000000',
      maxQty: '100000.00000000',
      stepSize: '0.00000000',
    },
    {
      filterType: 'TRAILING_DELTA',
      minTrailingAboveDelta: 10,
      maxTrailingAboveDelta: 2_000,
      minTrailingBelowDelta: 10,
      maxTrailingBelowDelta: 2_000,
    },
    { filterType: 'PERCENT_PRICE_BY_SIDE', ...aroundPrice, avgPriceMins: 5 },
    {
      filterType: 'NOTIONAL',
      minNotional: '5.00000000',
      applyMinToMarket: true,
      maxNotional: '9000000.00000000',
      applyMaxToMarket: false,
      avgPriceMins: 5,
    },
    { filterType: 'MAX_NUM_ORDERS', maxNumOrders: 200 },
    { filterType: 'MAX_NUM_ORDER_LISTS', maxNumOrderLists: 20 },
    { filterType: 'MAX_NUM_ALGO_ORDERS', maxNumAlgoOrders: 5 },
    { filterType: 'MAX_NUM_ORDER_AMENDS', maxNumOrderAmends: 10 },
  ]
}
