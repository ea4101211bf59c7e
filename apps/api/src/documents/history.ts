import type { Day, EpochMinute } from '@kimchi/core'
import { contentHash } from './body.ts'
import { createCompressedBody } from './compressed-body.ts'
import type { Document } from './document.ts'
import type { Queue } from './queue.ts'
import { toDailyRow } from './wire.ts'

/** Numbers of days that many ask for; 3650 is all. Their documents are kept, and compressed. */
const SPANS = [7, 30, 90, 365, 3_650]

export interface DayRows {
  /** All days but the newest, ascending, as JSON with a comma after each; shared by every document of them. */
  readonly closed: Buffer
  /** Where in `closed` each day begins, and where the last one ends. */
  readonly starts: Uint32Array
  /** Of `closed`. Kept, so that a change of the newest day does not hash all others again. */
  readonly hash: string
  /** The newest day, which may still change. */
  readonly last: Day | undefined
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  return append(Buffer.of(), Uint32Array.of(0), days.slice(0, -1), days.at(-1))
}

/** The rows with the newest day replaced by a newer state of it, or followed by a new day. */
export function withDay(rows: DayRows, day: Day | undefined): DayRows {
  const { closed, starts, last } = rows
  if (day === undefined || (last !== undefined && !isNewer(day, last))) return rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  return append(closed, starts, [last], day)
}

/** Whether both make the same documents. */
export function hasSameRows(a: DayRows, b: DayRows): boolean {
  return a.hash === b.hash && JSON.stringify(a.last) === JSON.stringify(b.last)
}

/** A coin's history at one minute: gives the newest `days` rows, ascending. */
export type History = (days: number) => Document

/** The history of these rows. @param compressions the queue in which common documents are compressed */
export function createHistory(
  { closed, starts, hash, last }: DayRows,
  { symbol, name }: { readonly symbol: string; readonly name: string },
  minute: EpochMinute,
  compressions: Queue,
): History {
  const newest = last === undefined ? '' : render(last)
  const length = last === undefined ? 0 : starts.length
  const wholeHash = contentHash(hash, symbol, '\n', name, '\n', newest)
  const head = `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)}`
  const end = `${newest}]}`
  const make = (count: number): Document => {
    const rows = closed.subarray(starts[length - count])
    return { minute, tag: `${wholeHash}-${count}`, body: [`${head},"count":${count},"data":[`, rows, end] }
  }
  const common = new Map<number, Document>()
  return days => {
    const count = Math.min(days, length)
    const known = common.get(count)
    if (known !== undefined) return known
    const document = make(count)
    if (!SPANS.some(span => Math.min(span, length) === count)) return document
    const kept = { ...document, compressed: createCompressedBody(document.body, compressions) }
    common.set(count, kept)
    return kept
  }
}

function append(closed: Buffer, starts: Uint32Array, days: readonly Day[], last: Day | undefined): DayRows {
  const rows = days.map(day => `${render(day)},`)
  const all = Buffer.concat([closed, Buffer.from(rows.join(''))])
  const begins = new Uint32Array(starts.length + rows.length)
  begins.set(starts)
  // Rows are ASCII: dates and numbers.
  for (const [n, { length }] of rows.entries())
    begins[starts.length + n] = Number(begins[starts.length + n - 1]) + length
  return { closed: all, starts: begins, hash: contentHash(all), last }
}

function render(day: Day): string {
  return JSON.stringify(toDailyRow(day))
}

/** The board and the days come from two reads, so the later one may return an older state. */
function isNewer(day: Day, than: Day): boolean {
  return day.date === than.date ? day.samples > than.samples : day.date > than.date
}
