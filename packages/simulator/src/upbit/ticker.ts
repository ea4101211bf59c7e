import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Trade } from '../market/types.ts'

/** How the frames of a connection are written. */
export type UpbitFormat = 'DEFAULT' | 'SIMPLE'

/** Figures of a day, 24 hours or a year have the right names and types only; this stands for each number. */
const FIGURE = 1_234_567.8901

const FIGURES = {
  ...Object.fromEntries(
    [
      'opening_price high_price low_price prev_closing_price change_price signed_change_price change_rate',
      'signed_change_rate acc_trade_price acc_trade_price_24h acc_trade_volume acc_trade_volume_24h',
      'acc_ask_volume acc_bid_volume highest_52_week_price lowest_52_week_price',
    ].flatMap(line => line.split(' ').map(name => [name, FIGURE])),
  ),
  change: 'RISE',
  ask_bid: 'BID',
  market_warning: 'NONE',
  highest_52_week_date: '2026-01-01',
  lowest_52_week_date: '2026-01-01',
  delisting_date: null,
}

/** Each full name with its short one. */
const SHORT_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'type:ty code:cd opening_price:op high_price:hp low_price:lp trade_price:tp',
    'prev_closing_price:pcp change:c change_price:cp signed_change_price:scp change_rate:cr',
    'signed_change_rate:scr trade_volume:tv acc_trade_volume:atv acc_trade_volume_24h:atv24h',
    'acc_trade_price:atp acc_trade_price_24h:atp24h trade_date:tdt trade_time:ttm',
    'trade_timestamp:ttms ask_bid:ab acc_ask_volume:aav acc_bid_volume:abv',
    'highest_52_week_price:h52wp highest_52_week_date:h52wdt lowest_52_week_price:l52wp',
    'lowest_52_week_date:l52wdt market_state:ms is_trading_suspended:its delisting_date:dd',
    'market_warning:mw timestamp:tms stream_type:st',
  ].flatMap(line => line.split(' ').map(pair => pair.split(':'))),
)

/** Where the figures stand in a frame: at its end, written once. */
const ENDS: Readonly<Record<UpbitFormat, string>> = {
  DEFAULT: `,${JSON.stringify(FIGURES).slice(1)}`,
  SIMPLE: `,${JSON.stringify(withShortNames(FIGURES)).slice(1)}`,
}

/** The ticker of a market after a trade, without the figures. @see docs/exchanges.md#upbit-websocket */
export function upbitTicker(
  exchanges: SimulatedExchanges,
  market: string,
  trade: Trade,
  timestamp: EpochMs,
  streamType: 'SNAPSHOT' | 'REALTIME',
): object {
  const { at, price, volume } = trade
  const target = { exchange: 'upbit', market, at: timestamp } as const
  const halt = exchanges.faults.find('halt', target)
  const word = exchanges.faults.find('state', target)?.fault.state ?? 'ACTIVE'
  const iso = new Date(at).toISOString()
  return {
    type: 'ticker',
    code: market,
    trade_price: price * (exchanges.faults.use('price', target)?.fault.factor ?? 1),
    trade_volume: volume,
    trade_date: iso.slice(0, 10).replaceAll('-', ''),
    trade_time: iso.slice(11, 19).replaceAll(':', ''),
    trade_timestamp: at,
    market_state: halt ? (halt.fault.state ?? 'PREVIEW') : word,
    is_trading_suspended: halt !== undefined,
    timestamp,
    stream_type: streamType,
  }
}

/** The whole frame of a ticker, as a connection asked for it. */
export function tickerText(ticker: object, format: UpbitFormat): string {
  const fields = format === 'SIMPLE' ? withShortNames(ticker) : ticker
  return JSON.stringify(fields).slice(0, -1) + ENDS[format]
}

function withShortNames(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [SHORT_NAMES[name], value]))
}
