import type { Day } from '@kimchi/core'
import { daysSchema } from '../contract/schemas.ts'
import { joinBytes } from './bytes.ts'
import { toDailyRow } from './wire.ts'

/** Rows of a history when the caller does not say how many. */
const USUAL_DAYS = daysSchema.default

/** One coin's days as bytes, so that any number of newest rows is a slice. */
export interface DayRows {
  /** Closed days that the usual body leaves out, each as JSON followed by a comma. */
  readonly older: Buffer
  /** The other closed days, in the same form. */
  readonly recent: Buffer
  /** Where each closed row begins, counted from the first byte of `older` on through `recent`; ascending by date. */
  readonly starts: readonly number[]
  /** The newest day, which still may change. */
  readonly last: Day | undefined
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  return arrange(days.slice(0, -1).map(closedRow), days.at(-1))
}

/** The rows with a newer state of the newest day, or with a new day after it; older days are left as they are. */
export function withDay(rows: DayRows, day: Day): DayRows {
  const { older, recent, starts, last } = rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  if (day.date < last.date) return rows
  const all = joinBytes([older, recent])
  return arrange(
    [...starts.map((start, index) => all.subarray(start, starts[index + 1])), closedRow(last)],
    day,
  )
}

/** How many rows a history of at most `days` rows has. */
export function countOf({ starts, last }: DayRows, days: number): number {
  return Math.min(days, starts.length + (last === undefined ? 0 : 1))
}

/** The JSON body of a history: the newest `days` rows, ascending. */
export function renderHistory(rows: DayRows, coin: { symbol: string; name: string }, days: number): Buffer {
  const { older, recent, starts, last } = rows
  const count = countOf(rows, days)
  const start = starts[starts.length + 1 - count] ?? older.length + recent.length
  return joinBytes([
    Buffer.from(headOf(coin, count)),
    older.subarray(start),
    recent.subarray(Math.max(0, start - older.length)),
    Buffer.from(`${last === undefined ? '' : JSON.stringify(toDailyRow(last))}]}`),
  ])
}

/**
 * The body of the usual number of rows, and the same rows keeping their recent bytes within that body: hundreds of coins
 * are held, and one copy of each is enough.
 */
export function renderUsual(
  rows: DayRows,
  coin: { symbol: string; name: string },
): [body: Buffer, rows: DayRows] {
  const body = renderHistory(rows, coin, USUAL_DAYS)
  const start = Buffer.byteLength(headOf(coin, countOf(rows, USUAL_DAYS)))
  return [body, { ...rows, recent: body.subarray(start, start + rows.recent.length) }]
}

function arrange(closed: readonly Buffer[], last: Day | undefined): DayRows {
  const starts: number[] = []
  let length = 0
  for (const row of closed) {
    starts.push(length)
    length += row.length
  }
  const split = Math.max(0, closed.length - (USUAL_DAYS - 1))
  return {
    older: joinBytes(closed.slice(0, split)),
    recent: joinBytes(closed.slice(split)),
    starts,
    last,
  }
}

function headOf({ symbol, name }: { symbol: string; name: string }, count: number): string {
  return `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)},"count":${count},"data":[`
}

function closedRow(day: Day): Buffer {
  return Buffer.from(`${JSON.stringify(toDailyRow(day))},`)
}
