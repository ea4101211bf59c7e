import type { DailyPremium } from '@kimchi/client'
import { averageE4, type Day, percentOf } from '@kimchi/core'
import { contentHash } from './document.ts'

/** A coin's days as the rows of its history. */
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
  if (day === undefined || (last !== undefined && isOlder(day, last))) return rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  return append(closed, starts, [last], day)
}

/** A day's row as JSON. */
export function renderDay(day: Day): string {
  const row: DailyPremium = {
    date: day.date,
    open_pct: percentOf(day.open),
    high_pct: percentOf(day.high),
    low_pct: percentOf(day.low),
    close_pct: percentOf(day.close),
    avg_pct: percentOf(averageE4(day)),
    samples: day.samples,
  }
  return JSON.stringify(row)
}

function append(closed: Buffer, starts: Uint32Array, days: readonly Day[], last: Day | undefined): DayRows {
  const rows = days.map(day => `${renderDay(day)},`)
  const all = Buffer.concat([closed, Buffer.from(rows.join(''))])
  const begins = new Uint32Array(starts.length + rows.length)
  begins.set(starts)
  // Rows are ASCII: dates and numbers.
  for (const [n, { length }] of rows.entries())
    begins[starts.length + n] = Number(begins[starts.length + n - 1]) + length
  return { closed: all, starts: begins, hash: contentHash(all), last }
}

/** The board and the days come from two reads, so the later one may return an older state. */
function isOlder(day: Day, than: Day): boolean {
  return day.date === than.date ? day.samples < than.samples : day.date < than.date
}
