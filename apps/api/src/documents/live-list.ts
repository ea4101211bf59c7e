import type { LiveList } from '@kimchi/client'
import { type EpochMinute, formatTimestamp } from '@kimchi/core'
import type { Board } from '@kimchi/store'
import { contentHash, type Document } from './document.ts'

const NOTE = 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.'

/**
 * The live list of a board, in its order, without rows where all coins are halted; undefined when nothing was published
 * yet.
 */
export function renderLiveList(board: Board): Document | undefined {
  const { rows, prices } = board
  const minute = newestMinute(board)
  if (minute === 0) return undefined
  const head: Omit<LiveList, 'data'> = {
    result: 'ok',
    updated_at: formatTimestamp(minute),
    count: rows.length,
    note: prices === 'simulated' ? `SIMULATED PRICES. ${NOTE}` : NOTE,
  }
  const data = rows.map(({ json }) => json).join(',')
  const plain = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[${data}]}`)
  return { minute, tag: contentHash(plain), body: [plain] }
}

/** The minute of a board's documents: that of its newest row, without rows the newest that was stored; 0 without any. */
export function newestMinute({ rows, newestMinute }: Board): EpochMinute {
  return Math.max(0, ...rows.map(({ minute }) => minute)) || newestMinute
}
