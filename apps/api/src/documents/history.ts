import type { EpochMinute } from '@kimchi/core'
import { type DayRows, renderDay } from './day-rows.ts'
import { compressedBody, contentHash, type Document, type Limit, QUALITY } from './document.ts'

/** Numbers of days that many ask for; 3650 is all. Their documents are kept, and compressed. */
const SPANS = [7, 30, 90, 365, 3_650]

/** A coin's history at one minute. */
export type History = ReturnType<typeof createHistory>

/** The history of these rows. @param limit says how many common documents are compressed at a time */
export function createHistory(
  { closed, starts, hash: closedHash, last }: DayRows,
  { symbol, name }: { readonly symbol: string; readonly name: string },
  minute: EpochMinute,
  limit: Limit,
) {
  const newest = last === undefined ? '' : renderDay(last)
  const length = last === undefined ? 0 : starts.length
  /** Of all that it says. */
  const hash = contentHash(closedHash, symbol, '\n', name, '\n', newest)
  const head = `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)}`
  const end = `${newest}]}`
  const common = new Map<number, Document>()
  /** The newest `days` rows, ascending. */
  const document = (days: number): Document => {
    const count = Math.min(days, length)
    const known = common.get(count)
    if (known !== undefined) return known
    const body = [`${head},"count":${count},"data":[`, closed.subarray(starts[length - count]), end]
    const made = { minute, tag: `${hash}-${count}`, body }
    if (!SPANS.some(span => Math.min(span, length) === count)) return made
    const kept = { ...made, compressed: compressedBody(body, limit, QUALITY.history) }
    common.set(count, kept)
    return kept
  }
  return { minute, hash, document }
}
