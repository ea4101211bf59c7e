import type { Day, EpochMinute } from '@kimchi/core'
import type { CodedBodies } from './coded-bodies.ts'
import { Document, hashOf } from './document.ts'
import { toDailyRow } from './wire.ts'

/** Numbers of days that many ask for; 3650 is all. Their documents are kept, and can be had coded. */
const COMMON_DAYS = [7, 30, 90, 365, 3_650]

/** A coin's days, rendered. */
export interface DayRows {
  /** All days but the newest, ascending, each as JSON. */
  readonly closed: readonly string[]
  /** Hash of the closed rows. */
  readonly hash: string
  /** The newest day, which still may change. */
  readonly last: Day | undefined
}

/** The rows of a coin's days. @param days ascending by date */
export function dayRows(days: readonly Day[]): DayRows {
  return arrange(days.slice(0, -1).map(render), days.at(-1))
}

/**
 * The rows with a newer state of the newest day, or with a new day after it; older days are left as they
 * are.
 */
export function withDay(rows: DayRows, day: Day | undefined): DayRows {
  const { closed, last } = rows
  if (day === undefined || (last !== undefined && !isNewer(day, last))) return rows
  if (last === undefined || day.date === last.date) return { ...rows, last: day }
  return arrange([...closed, render(last)], day)
}

/** A coin's whole history at one minute, from which documents of its newest days are made. */
export class History {
  readonly minute: EpochMinute
  readonly #symbol: string
  readonly #name: string
  readonly #rows: readonly string[]
  readonly #hash: string
  readonly #bodies: CodedBodies
  readonly #common = new Map<number, Document>()

  constructor(
    { closed, hash, last }: DayRows,
    { symbol, name }: { readonly symbol: string; readonly name: string },
    minute: EpochMinute,
    bodies: CodedBodies,
  ) {
    const newest = last === undefined ? [] : [render(last)]
    this.minute = minute
    this.#symbol = symbol
    this.#name = name
    this.#rows = [...closed, ...newest]
    this.#hash = hashOf(hash, symbol, '\n', name, '\n', ...newest)
    this.#bodies = bodies
  }

  /** The newest `days` rows, ascending. */
  document(days: number): Document {
    const count = Math.min(days, this.#rows.length)
    const known = this.#common.get(count)
    if (known !== undefined) return known
    const isCommon = COMMON_DAYS.some(common => Math.min(common, this.#rows.length) === count)
    const document = this.#render(count, isCommon ? this.#bodies : undefined)
    if (isCommon) this.#common.set(count, document)
    return document
  }

  #render(count: number, bodies: CodedBodies | undefined): Document {
    const [symbol, name] = [JSON.stringify(this.#symbol), JSON.stringify(this.#name)]
    const rows = this.#rows.slice(this.#rows.length - count).join(',')
    const plain = `{"result":"ok","symbol":${symbol},"name":${name},"count":${count},"data":[${rows}]}`
    const parts = { minute: this.minute, tag: `${this.#hash}-${count}`, plain: Buffer.from(plain) }
    return new Document(parts, `${this.#symbol} ${count}`, bodies)
  }
}

function arrange(closed: readonly string[], last: Day | undefined): DayRows {
  return { closed, hash: hashOf(closed.join()), last }
}

function render(day: Day): string {
  return JSON.stringify(toDailyRow(day))
}

/** Two reads are not one instant: what was read later may be older. */
function isNewer(day: Day, than: Day): boolean {
  return day.date === than.date ? day.samples > than.samples : day.date > than.date
}
