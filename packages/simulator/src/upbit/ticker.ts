import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Trade } from '../market/types.ts'

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

/** Where the figures stand in a frame: at its end, written once. */
const END = `,${JSON.stringify(FIGURES).slice(1)}`

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
  const isHalted = exchanges.faults.find('halt', target) !== undefined
  const iso = new Date(at).toISOString()
  const ticker = {
    type: 'ticker',
    code: market,
    trade_price: exchanges.faults.priceIn(price, target),
    trade_volume: volume,
    trade_date: iso.slice(0, 10).replaceAll('-', ''),
    trade_time: iso.slice(11, 19).replaceAll(':', ''),
    trade_timestamp: at,
    market_state: isHalted ? 'PREVIEW' : 'ACTIVE',
    is_trading_suspended: isHalted,
    timestamp,
    stream_type: streamType,
  }
  return exchanges.faults.alter(ticker, target)
}

export function tickerText(ticker: object): string {
  return JSON.stringify(ticker).slice(0, -1) + END
}
