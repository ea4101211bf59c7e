import { formatTimestamp, type PricesKind } from '@kimchi/core'
import type { LiveList, LiveRow } from '../contract/schemas.ts'

const NOTE = 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.'

/** The JSON body of the live list. Rows keep the order they come in and are never restamped. */
export function renderLiveList(rows: readonly LiveRow[], prices: PricesKind, newestMinute: number): Buffer {
  const list: LiveList = {
    result: 'ok',
    updated_at: formatTimestamp(newestMinute),
    count: rows.length,
    note: prices === 'simulated' ? `SIMULATED PRICES. ${NOTE}` : NOTE,
    data: rows,
  }
  return Buffer.from(JSON.stringify(list))
}
