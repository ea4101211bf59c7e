import type { LiveList } from '@kimchi/client'
import { formatTimestamp } from '@kimchi/core'
import type { Board } from '@kimchi/store'
import { type Document, hashOf } from './document.ts'
import { toLiveRow } from './wire.ts'

const NOTE = 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.'

/** The live list of a board, in its order; undefined when nothing was published yet. */
export function renderLiveList({ coins, rows, prices }: Board): Document | undefined {
  if (rows.length === 0) return undefined
  const minute = Math.max(...rows.map(row => row.minute))
  const names = new Map(coins.map(({ symbol, name }) => [symbol, name]))
  const list: LiveList = {
    result: 'ok',
    updated_at: formatTimestamp(minute),
    count: rows.length,
    note: prices === 'simulated' ? `SIMULATED PRICES. ${NOTE}` : NOTE,
    data: rows.map(row => toLiveRow(row, names.get(row.symbol) ?? row.symbol)),
  }
  const plain = Buffer.from(JSON.stringify(list))
  return { minute, tag: hashOf(plain), chunks: [plain] }
}
