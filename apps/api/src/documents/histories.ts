import type { Day, Log, UtcDate } from '@kimchi/core'
import type { Board, KnownCoin, SampleReader } from '@kimchi/store'
import { daysSchema } from '../contract/schemas.ts'
import { createDocument, type Document } from './document.ts'
import { countOf, type DayRows, dayRows, renderHistory, renderUsual, withDay } from './history.ts'

/** The part of the store's reader that histories are built from. */
export type HistoryReader = Pick<SampleReader, 'readDays'>

/** A document per number of rows; the usual number has its own place, the others share few. */
const MAX_ODD_DOCUMENTS = 32
const USUAL_DAYS = daysSchema.default

/** One coin's history as it is held. */
interface Held {
  rows: DayRows
  /** What the closed days were read under; another revision or date means to read them again. */
  revision: number | undefined
  readOn: UtcDate | undefined
  /** Days left out because they could not be understood. */
  readonly corrupt: number
  /** The document of the usual number of rows, and the name it was made with. */
  usual: Document | undefined
  name: string
}

/**
 * The histories asked for so far. A coin's closed days are read when first asked for, and again when its revision changed
 * or the UTC date turned; today's row comes with the board every minute. Until a second reading is there the first one is
 * served. Memory grows with the coins that exist, never with what is asked.
 */
export interface Histories {
  /** Coins whose history is held. */
  readonly size: number
  /** Days left out of the histories held, because they could not be understood. */
  readonly corrupt: number
  /** The newest `days` rows of a coin, built when first asked for since it changed; undefined before {@link Histories.load}. */
  document(coin: KnownCoin, days: number): Document | undefined
  /** Reads a coin's days; asked many times at once, it reads once. Does not reject. */
  load(symbol: string): Promise<void>
  /** Takes today's rows of a new board, and reads closed days again where it says that they changed. */
  update(board: Board): void
  /** Closed days may have changed unnoticed: they are read again after the next board. */
  invalidate(): void
}

/** {@link Histories} without any yet. */
export function createHistories(options: { readonly reader: HistoryReader; readonly log: Log }): Histories {
  return new HeldHistories(options)
}

class HeldHistories implements Histories {
  readonly #reader: HistoryReader
  readonly #log: Log
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Promise<void>>()
  readonly #odd = new Map<string, Document>()
  #board: Board | undefined
  #catchingUp = false

  constructor({ reader, log }: { readonly reader: HistoryReader; readonly log: Log }) {
    this.#reader = reader
    this.#log = log
  }

  get size(): number {
    return this.#held.size
  }

  get corrupt(): number {
    let corrupt = 0
    for (const held of this.#held.values()) corrupt += held.corrupt
    return corrupt
  }

  document(coin: KnownCoin, days: number): Document | undefined {
    const held = this.#held.get(coin.symbol)
    if (held === undefined) return undefined
    const count = countOf(held.rows, days)
    if (count !== countOf(held.rows, USUAL_DAYS)) return this.#oddDocument(held, coin, count)
    if (held.name !== coin.name) held.usual = undefined
    held.name = coin.name
    if (held.usual === undefined) {
      const [body, rows] = renderUsual(held.rows, coin)
      held.usual = createDocument(body)
      held.rows = rows
    }
    return held.usual
  }

  load(symbol: string): Promise<void> {
    const loading =
      this.#loading.get(symbol) ?? this.#read(symbol).finally(() => this.#loading.delete(symbol))
    this.#loading.set(symbol, loading)
    return loading
  }

  update(board: Board): void {
    this.#board = board
    this.#odd.clear()
    for (const [symbol, held] of this.#held) {
      const day = board.todayRows.get(symbol)
      if (!isNewer(day, held.rows.last)) continue
      held.rows = withDay(held.rows, day)
      held.usual = undefined
    }
    void this.#catchUp()
  }

  invalidate(): void {
    for (const held of this.#held.values()) held.readOn = undefined
  }

  async #read(symbol: string): Promise<void> {
    // The revision from before the reading: a change during it shows as a newer one afterwards.
    const before = this.#board
    try {
      const { entries, corrupt } = await this.#reader.readDays(symbol)
      const today = this.#board?.todayRows.get(symbol)
      const rows = dayRows(entries)
      this.#held.set(symbol, {
        rows: isNewer(today, rows.last) ? withDay(rows, today) : rows,
        revision: before?.revisions.get(symbol),
        readOn: before?.today,
        corrupt,
        usual: undefined,
        name: '',
      })
      this.#odd.clear()
    } catch (thrown) {
      this.#log.warn({ err: thrown, symbol }, 'history not read')
    }
  }

  /** One coin at a time, to spare Redis; nobody waits for it. */
  async #catchUp(): Promise<void> {
    if (this.#catchingUp) return
    this.#catchingUp = true
    let board: Board | undefined
    while (board !== this.#board) {
      board = this.#board
      for (const symbol of [...this.#held.keys()]) if (this.#isOutdated(symbol)) await this.load(symbol)
    }
    this.#catchingUp = false
  }

  #isOutdated(symbol: string): boolean {
    const held = this.#held.get(symbol)
    return held?.readOn !== this.#board?.today || held?.revision !== this.#board?.revisions.get(symbol)
  }

  #oddDocument(held: Held, coin: KnownCoin, count: number): Document {
    const key = `${coin.symbol} ${count}`
    const known = this.#odd.get(key)
    if (known !== undefined) return known
    const document = createDocument(renderHistory(held.rows, coin, count))
    const oldest = this.#odd.size < MAX_ODD_DOCUMENTS ? undefined : this.#odd.keys().next().value
    if (oldest !== undefined) this.#odd.delete(oldest)
    this.#odd.set(key, document)
    return document
  }
}

/** A board read after the days may be older than them: two reads are not one instant. */
function isNewer(day: Day | undefined, than: Day | undefined): day is Day {
  if (day === undefined) return false
  if (than === undefined || day.date !== than.date) return than === undefined || day.date > than.date
  return day.samples > than.samples
}
