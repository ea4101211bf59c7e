import { withFaultyPrice } from '../faults/faulty-price.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { upbitState } from '../market/states.ts'
import { krwTickSize, roundToStep } from '../market/tick-size.ts'
import { meanVolume } from '../market/trades.ts'
import type { EpochMs, Market, Trade } from '../market/types.ts'

const DAY = 86_400_000

/**
 * The ticker of a market after `trade`, sent at `timestamp`. Trade, state and times are true; figures of a
 * day or a year have the right shape only.
 * @see docs/exchanges.md#upbit-websocket
 */
export function upbitTicker(
  exchanges: SimulatedExchanges,
  market: Market,
  trade: Trade,
  timestamp: EpochMs,
  streamType: 'SNAPSHOT' | 'REALTIME',
): object {
  const { at, price, side, volume } = trade
  const { state, suspended } = upbitState(exchanges, market)
  const opening = openingPrice(market)
  const ofDay = (at % DAY) / DAY
  const [date = '', time = ''] = new Date(at).toISOString().slice(0, 19).split('T')
  const ofWhole = market.tradesPerMinute * 1_440 * meanVolume(market)
  const ticker = {
    type: 'ticker',
    code: market.code,
    opening_price: opening,
    high_price: Math.max(opening, price),
    low_price: Math.min(opening, price),
    trade_price: price,
    prev_closing_price: opening,
    acc_trade_price: ofWhole * ofDay * price,
    ...changeFrom(opening, price),
    ask_bid: side,
    trade_volume: volume,
    acc_trade_volume: round8(ofWhole * ofDay),
    trade_date: date.replaceAll('-', ''),
    trade_time: time.replaceAll(':', ''),
    trade_timestamp: at,
    acc_ask_volume: round8(ofWhole * ofDay * 0.48),
    acc_bid_volume: round8(ofWhole * ofDay * 0.52),
    highest_52_week_price: Math.max(opening, price),
    highest_52_week_date: date,
    lowest_52_week_price: Math.min(opening, price),
    lowest_52_week_date: date,
    market_state: state,
    is_trading_suspended: suspended,
    delisting_date: state === 'DELISTED' ? date : null,
    market_warning: market.coin.upbit?.warning ? 'CAUTION' : 'NONE',
    timestamp,
    acc_trade_price_24h: ofWhole * price,
    acc_trade_volume_24h: round8(ofWhole),
    stream_type: streamType,
  }
  const { faults } = exchanges
  const omit = faults.find('omit', { exchange: 'upbit', market: market.code })
  const sent = withFaultyPrice(faults, market, ticker, 'trade_price')
  return omit
    ? Object.fromEntries(Object.entries(sent).filter(([name]) => !omit.fault.fields.includes(name)))
    : sent
}

function openingPrice({ coin }: Market): number {
  const krw = coin.price * 1_400
  return roundToStep(krw, krwTickSize(krw))
}

function changeFrom(opening: number, price: number) {
  const step = round8(price - opening)
  const rate = Number((step / opening).toFixed(10))
  return {
    change: step > 0 ? 'RISE' : step < 0 ? 'FALL' : 'EVEN',
    change_price: Math.abs(step),
    signed_change_price: step,
    change_rate: Math.abs(rate),
    signed_change_rate: rate,
  }
}

function round8(value: number): number {
  return Math.round(value * 1e8) / 1e8
}

/** A ticker with Upbit's SIMPLE field names. */
export function withShortNames(ticker: object): object {
  return Object.fromEntries(Object.entries(ticker).map(([name, value]) => [SHORT_NAMES.get(name), value]))
}

/** Each full name with its short one. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map(
  [
    'type:ty code:cd opening_price:op high_price:hp low_price:lp trade_price:tp',
    'prev_closing_price:pcp change:c change_price:cp signed_change_price:scp change_rate:cr',
    'signed_change_rate:scr trade_volume:tv acc_trade_volume:atv acc_trade_volume_24h:atv24h',
    'acc_trade_price:atp acc_trade_price_24h:atp24h trade_date:tdt trade_time:ttm',
    'trade_timestamp:ttms ask_bid:ab acc_ask_volume:aav acc_bid_volume:abv',
    'highest_52_week_price:h52wp highest_52_week_date:h52wdt lowest_52_week_price:l52wp',
    'lowest_52_week_date:l52wdt market_state:ms is_trading_suspended:its delisting_date:dd',
    'market_warning:mw timestamp:tms stream_type:st',
  ].flatMap(line => line.split(' ').map(pair => pair.split(':') as [string, string])),
)
