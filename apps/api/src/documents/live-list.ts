import { formatTimestamp, type LiveRow, type PricesKind } from '@kimchi/core'
import type { LiveList } from '../contract/schemas.ts'

const NOTE = 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.'

/** The JSON body of the live list. Rows keep the order they come in and are never restamped. */
export function renderLiveList(rows: readonly LiveRow[], prices: PricesKind, newestMinute: number): Buffer {
  const list: LiveList = {
    result: 'ok',
    updated_at: formatTimestamp(newestMinute),
    count: rows.length,
    note: prices === 'simulated' ? `SIMULATED PRICES. ${NOTE}` : NOTE,
    data: rows.map(inSpecOrder),
  }
  return Buffer.from(JSON.stringify(list))
}

/** What comes from Redis may have its fields in any order. */
function inSpecOrder(row: LiveRow): LiveRow {
  return {
    symbol: row.symbol,
    name: row.name,
    premium_pct: row.premium_pct,
    upbit_krw: row.upbit_krw,
    binance_usdt: row.binance_usdt,
    usdt_krw: row.usdt_krw,
    snapshot_at: row.snapshot_at,
  }
}
