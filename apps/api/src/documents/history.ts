import type { Day, EpochMinute } from '@kimchi/core'
import type { CodedBodies } from './coded-bodies.ts'
import { type Document, hashOf } from './document.ts'
import { toDailyRow } from './wire.ts'

/** Numbers of days that many ask for; 3650 is all. Their documents are kept, plain and coded. */
const COMMON_DAYS = [7, 30, 90, 365, 3_650]

const END = Buffer.from(']}')

/** A coin's days, rendered. */
export interface DayRows {
  /** All days but the newest, ascending, each as JSON. */
  readonly closed: readonly string[]
  /** Hash of the closed rows. */
  readonly hash: string
  /** The newest day, which may still change. */
  readonly last: Day | undefined
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  return arrange(days.slice(0, -1).map(render), days.at(-1))
}

/** The rows with the newest day replaced by a newer state of it, or followed by a new day. */
export function withDay(rows: DayRows, day: Day | undefined): DayRows {
  const { closed, last } = rows
  if (day === undefined || (last !== undefined && !isNewer(day, last))) return rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  return arrange([...closed, render(last)], day)
}

/** A coin's history at one minute: gives the newest `days` rows, ascending. */
export type History = (days: number) => Document

/** The history of these rows. @param bodies keeps the coded forms of the common documents */
export function createHistory(
  { closed, hash, last }: DayRows,
  { symbol, name }: { readonly symbol: string; readonly name: string },
  minute: EpochMinute,
  bodies: CodedBodies,
): History {
  const newest = last === undefined ? [] : [render(last)]
  const rows = [...closed, ...newest]
  const wholeHash = hashOf(hash, symbol, '\n', name, '\n', ...newest)
  const head = `{"result":"ok","symbol":${JSON.stringify(symbol)},"name":${JSON.stringify(name)}`
  // Joining the rows for each request takes five times as long as copying their bytes.
  const all = Buffer.from(rows.join(','))
  // Rows are ASCII: dates and numbers.
  const starts = [0]
  for (const { length } of rows) starts.push(Number(starts.at(-1)) + length + 1)
  const make = (count: number) => {
    const start = Buffer.from(`${head},"count":${count},"data":[`)
    const data = all.subarray(starts[rows.length - count])
    return { tag: `${wholeHash}-${count}`, plain: Buffer.concat([start, data, END]) }
  }
  const common = new Map<number, Document>()
  return days => {
    const count = Math.min(days, rows.length)
    const known = common.get(count)
    if (known !== undefined) return known
    const body = make(count)
    if (!COMMON_DAYS.some(some => Math.min(some, rows.length) === count)) return { ...body, minute }
    const document = { ...body, minute, coded: bodies.formsOf(`${symbol} ${count}`, body) }
    common.set(count, document)
    return document
  }
}

function arrange(closed: readonly string[], last: Day | undefined): DayRows {
  return { closed, hash: hashOf(closed.join()), last }
}

function render(day: Day): string {
  return JSON.stringify(toDailyRow(day))
}

/** The board and the days come from two reads, so the later one may return an older state. */
function isNewer(day: Day, than: Day): boolean {
  return day.date === than.date ? day.samples > than.samples : day.date > than.date
}
