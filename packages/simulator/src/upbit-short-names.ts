import type { UpbitObject } from './upbit-ticker.ts'

/** `object` with Upbit's SIMPLE field names. @see exchange-protocols §1 */
export function shortened(object: UpbitObject): UpbitObject {
  const short: Record<string, UpbitObject[string]> = {}
  for (const [name, value] of Object.entries(object)) short[shortNameOf(name, object)] = value
  return short
}

function shortNameOf(name: string, object: UpbitObject): string {
  // In a trade `trade_date` and `change` keep the names of the ticker.
  if (object.type === 'trade' && name in TRADE_NAMES) return TRADE_NAMES[name] as string
  return TICKER_NAMES[name] ?? name
}

const TICKER_NAMES: Readonly<Record<string, string>> = {
  type: 'ty',
  code: 'cd',
  opening_price: 'op',
  high_price: 'hp',
  low_price: 'lp',
  trade_price: 'tp',
  prev_closing_price: 'pcp',
  change: 'c',
  change_price: 'cp',
  signed_change_price: 'scp',
  change_rate: 'cr',
  signed_change_rate: 'scr',
  trade_volume: 'tv',
  acc_trade_volume: 'atv',
  acc_trade_volume_24h: 'atv24h',
  acc_trade_price: 'atp',
  acc_trade_price_24h: 'atp24h',
  trade_date: 'tdt',
  trade_time: 'ttm',
  trade_timestamp: 'ttms',
  ask_bid: 'ab',
  acc_ask_volume: 'aav',
  acc_bid_volume: 'abv',
  highest_52_week_price: 'h52wp',
  highest_52_week_date: 'h52wdt',
  lowest_52_week_price: 'l52wp',
  lowest_52_week_date: 'l52wdt',
  market_state: 'ms',
  is_trading_suspended: 'its',
  delisting_date: 'dd',
  market_warning: 'mw',
  timestamp: 'tms',
  stream_type: 'st',
}

const TRADE_NAMES: Readonly<Record<string, string>> = {
  trade_date: 'td',
  sequential_id: 'sid',
  best_ask_price: 'bap',
  best_ask_size: 'bas',
  best_bid_price: 'bbp',
  best_bid_size: 'bbs',
}
