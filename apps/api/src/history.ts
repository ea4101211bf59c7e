import { type Day, toDailyRow } from '@kimchi/core'

/** One coin's days as bytes, so that any number of newest rows is a slice. */
export interface DayRows {
  /** All days but the last, each as JSON followed by a comma. */
  readonly closed: Buffer
  /** Where each closed row begins in {@link DayRows.closed}, ascending by date. */
  readonly starts: readonly number[]
  /** The newest day, which still may change. */
  readonly last: Day | undefined
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  const starts: number[] = []
  const rows: Buffer[] = []
  let length = 0
  for (const day of days.slice(0, -1)) {
    const row = closedRow(day)
    starts.push(length)
    rows.push(row)
    length += row.length
  }
  return { closed: Buffer.concat(rows), starts, last: days.at(-1) }
}

/** The rows with a newer state of the newest day, or with a new day after it; older days are left as they are. */
export function withDay(rows: DayRows, day: Day): DayRows {
  const { closed, starts, last } = rows
  if (last === undefined || day.date === last.date) return { closed, starts, last: day }
  if (day.date < last.date) return rows
  return { closed: Buffer.concat([closed, closedRow(last)]), starts: [...starts, closed.length], last: day }
}

/** How many rows an answer of at most `days` rows has. */
export function countOf(rows: DayRows, days: number): number {
  return Math.min(days, rows.starts.length + (rows.last === undefined ? 0 : 1))
}

/** The JSON body of a history: the newest `days` rows, ascending. @see service-spec §2.3 */
export function renderHistory(
  rows: DayRows,
  { symbol, name }: { symbol: string; name: string },
  days: number,
) {
  const count = countOf(rows, days)
  const head = `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)},"count":${count},"data":[`
  const last = rows.last === undefined ? '' : JSON.stringify(toDailyRow(rows.last))
  const start = rows.starts[rows.starts.length + 1 - count] ?? rows.closed.length
  return Buffer.concat([Buffer.from(head), rows.closed.subarray(start), Buffer.from(`${last}]}`)])
}

function closedRow(day: Day): Buffer {
  return Buffer.from(`${JSON.stringify(toDailyRow(day))},`)
}
