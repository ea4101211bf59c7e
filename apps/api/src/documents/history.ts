import type { EpochMinute } from '@kimchi/core'
import { contentHash } from './body.ts'
import { compressedBody, QUALITY } from './compressed-body.ts'
import { type DayRows, renderDay } from './day-rows.ts'
import type { Document } from './document.ts'
import type { Queue } from './queue.ts'

/** Numbers of days that many ask for; 3650 is all. Their documents are kept, and compressed. */
const SPANS = [7, 30, 90, 365, 3_650]

/** A coin's history at one minute. */
export type History = ReturnType<typeof createHistory>

/** The history of these rows. @param compressions the queue in which common documents are compressed */
export function createHistory(
  { closed, starts, hash: closedHash, last }: DayRows,
  { symbol, name }: { readonly symbol: string; readonly name: string },
  minute: EpochMinute,
  compressions: Queue,
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
    const kept = { ...made, compressed: compressedBody(body, compressions, QUALITY.history) }
    common.set(count, kept)
    return kept
  }
  return { minute, hash, document }
}
