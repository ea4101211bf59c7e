import type { Day, EpochMinute } from '@kimchi/core'
import { bytesOf, type Document, hashOf } from './document.ts'
import { toDailyRow } from './wire.ts'

/** One coin's days as bytes, so that any number of newest rows is a slice. */
export interface DayRows {
  /** All days but the newest, ascending, each as JSON followed by a comma. */
  readonly closed: Buffer
  /** Where each closed row begins. */
  readonly starts: Uint32Array
  /** Hash of the closed rows. */
  readonly hash: string
  /** The newest day, which still may change. */
  readonly last: Day | undefined
}

/** A coin's whole history at one minute. */
export interface History {
  readonly rows: DayRows
  readonly symbol: string
  readonly name: string
  readonly minute: EpochMinute
  /** Hash of all that is in it. */
  readonly hash: string
  /** The newest row and all that follows it, the same however many rows are asked for. */
  readonly tail: Buffer
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  return arrange(days.slice(0, -1).map(closedRow), days.at(-1))
}

/**
 * The rows with a newer state of the newest day, or with a new day after it; older days are left as they
 * are.
 */
export function withDay(rows: DayRows, day: Day | undefined): DayRows {
  const { closed, starts, last } = rows
  if (day === undefined || (last !== undefined && !isNewer(day, last))) return rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  const before = Array.from(starts, (start, index) => closed.toString('latin1', start, starts[index + 1]))
  return arrange([...before, closedRow(last)], day)
}

/** A coin's history, hashed once; {@link newestDays} cuts documents from it. */
export function createHistory(
  rows: DayRows,
  { symbol, name }: { readonly symbol: string; readonly name: string },
  minute: EpochMinute,
): History {
  const tail = bytesOf(`${rows.last === undefined ? '' : JSON.stringify(toDailyRow(rows.last))}]}`)
  return { rows, symbol, name, minute, hash: hashOf(rows.hash, symbol, '\n', name, '\n', tail), tail }
}

/** How many rows a document of at most `days` rows has. */
export function countOf({ starts, last }: DayRows, days: number): number {
  return Math.min(days, starts.length + (last === undefined ? 0 : 1))
}

/** The newest `days` rows, ascending, not compressed. Costs no copy of the rows. */
export function newestDays({ rows, symbol, name, minute, hash, tail }: History, days: number): Document {
  const count = countOf(rows, days)
  const start = rows.starts[rows.starts.length + 1 - count] ?? rows.closed.length
  const head = `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)},"count":${count},"data":[`
  return {
    minute,
    tag: `${hash}-${count}`,
    plain: [bytesOf(head), rows.closed.subarray(start), tail],
    coded: new Map(),
  }
}

/** @param closed rows of ASCII: dates and numbers */
function arrange(closed: readonly string[], last: Day | undefined): DayRows {
  const starts = new Uint32Array(closed.length)
  let length = 0
  for (const [index, row] of closed.entries()) {
    starts[index] = length
    length += row.length
  }
  const bytes = bytesOf(closed.join(''))
  return { closed: bytes, starts, hash: hashOf(bytes), last }
}

function closedRow(day: Day): string {
  return `${JSON.stringify(toDailyRow(day))},`
}

/** Two reads are not one instant: what was read later may be older. */
function isNewer(day: Day, than: Day): boolean {
  return day.date === than.date ? day.samples > than.samples : day.date > than.date
}
