import type { History, LiveList } from './schemas.ts'

/** A response of the live route, for the OpenAPI document; its premium follows from its prices. */
export const LIVE_LIST_EXAMPLE: LiveList = {
  result: 'ok',
  updated_at: '2026-11-20T13:05:00',
  count: 1,
  note: 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.',
  data: [
    {
      symbol: 'BTC',
      name: 'Bitcoin',
      premium_pct: 1.2341,
      upbit_krw: 143_500_000,
      binance_usdt: 101_250.5,
      usdt_krw: 1_400,
      snapshot_at: '2026-11-20T13:05:00',
    },
  ],
}

/** A response of the daily route, for the OpenAPI document. */
export const HISTORY_EXAMPLE: History = {
  result: 'ok',
  symbol: 'BTC',
  name: 'Bitcoin',
  count: 1,
  data: [
    {
      date: '2026-11-20',
      open_pct: 1.1021,
      high_pct: 1.5,
      low_pct: 0.9124,
      close_pct: 1.2341,
      avg_pct: 1.1873,
      samples: 786,
    },
  ],
}
