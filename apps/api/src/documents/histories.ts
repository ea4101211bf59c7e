import type { Clock, Context, EpochMinute, EpochMs, Log, Milliseconds, UtcDate } from '@kimchi/core'
import { isWorthALine } from '@kimchi/core'
import type { Board, KnownCoin, SampleReader } from '@kimchi/store'
import { daysSchema } from '../contract/schemas.ts'
import { type CompressedStart, compressStart, endedWith } from './compression.ts'
import type { Document } from './document.ts'
import {
  countOf,
  createHistory,
  type DayRows,
  dayRows,
  type History,
  newestDays,
  withDay,
} from './history.ts'

/** The part of the store's reader that histories are built from. */
export type HistoryReader = Pick<SampleReader, 'readDays'>

/** What histories are built from, and with. */
export interface HistoriesOptions extends Pick<Context, 'clock' | 'log'> {
  readonly reader: HistoryReader
}

/** A board, and what histories need of it beside its days. */
export interface HistoryBoard extends Pick<Board, 'today' | 'todayRows' | 'revisions'> {
  readonly coins: ReadonlyMap<string, KnownCoin>
  /** The newest snapshot. */
  readonly minute: EpochMinute
}

/**
 * The histories asked for so far. A coin's closed days are read when first asked for, and again when its
 * revision changed or the UTC date turned; today's row comes with the board every minute. Until the new
 * documents are there the ones before are served. Memory grows with the coins that exist, never with what
 * is asked.
 */
export interface Histories {
  /** Coins whose history is held. */
  readonly size: number
  /** Days left out of the histories held, because they could not be understood. */
  readonly corrupt: number
  /** The newest `days` rows of a coin; undefined before {@link Histories.load}. */
  document(symbol: string, days: number): Document | undefined
  /**
   * Brings a coin's history up to the newest board; asked many times at once, it does so once. Does not
   * reject.
   */
  load(symbol: string): Promise<void>
  /** Takes a new board, and brings what is held up to it, one coin at a time. Does not reject. */
  update(board: HistoryBoard): Promise<void>
  /** Closed days may have changed unnoticed: they are read again with the next board. */
  invalidate(): void
}

/** Closed days as they were read, and under what: another revision or date means to read them again. */
interface ReadDays {
  readonly rows: DayRows
  readonly revision: number | undefined
  /** Undefined when they may have changed unnoticed. */
  readonly readOn: UtcDate | undefined
  /** Days left out because they could not be understood. */
  readonly corrupt: number
}

/** One coin's history as it is held. */
interface Held extends ReadDays {
  readonly board: HistoryBoard
  readonly history: History
  /** The document of the default number of rows. */
  readonly usual: Document
  /** All of it but the newest row, compressed. */
  readonly start: CompressedStart | undefined
}

/** A history that could not be read isn't asked for again before this. */
const RETRY_MS: Milliseconds = 10_000

const USUAL_DAYS = daysSchema.default

/** {@link Histories} without any yet. */
export function createHistories(options: HistoriesOptions): Histories {
  return new HeldHistories(options)
}

class HeldHistories implements Histories {
  readonly #reader: HistoryReader
  readonly #clock: Clock
  readonly #log: Log
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Promise<void>>()
  /** When to try again, by coin. */
  readonly #failed = new Map<string, EpochMs>()
  #failures = 0
  #board: HistoryBoard | undefined

  constructor({ reader, clock, log }: HistoriesOptions) {
    this.#reader = reader
    this.#clock = clock
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

  document(symbol: string, days: number): Document | undefined {
    const held = this.#held.get(symbol)
    if (held === undefined) return undefined
    const { rows } = held.history
    return countOf(rows, days) === countOf(rows, USUAL_DAYS) ? held.usual : newestDays(held.history, days)
  }

  load(symbol: string): Promise<void> {
    const loading = this.#loading.get(symbol) ?? this.#start(symbol)
    this.#loading.set(symbol, loading)
    return loading
  }

  async update(board: HistoryBoard): Promise<void> {
    this.#board = board
    // One coin at a time, to spare Redis and the other replicas of this machine. A newer board has a pass of
    // its own.
    for (const symbol of [...this.#held.keys()]) if (this.#board === board) await this.load(symbol)
  }

  invalidate(): void {
    for (const [symbol, held] of this.#held) this.#held.set(symbol, { ...held, readOn: undefined })
  }

  async #start(symbol: string): Promise<void> {
    try {
      await this.#bring(symbol)
    } catch (thrown) {
      this.#log.error({ err: thrown, symbol }, 'history not built')
    } finally {
      this.#loading.delete(symbol)
    }
  }

  async #bring(symbol: string): Promise<void> {
    for (let board = this.#board; board !== undefined; board = this.#board) {
      if (this.#held.get(symbol)?.board === board || !(await this.#build(symbol, board))) return
    }
  }

  /** Whether there is a history of this board now. */
  async #build(symbol: string, board: HistoryBoard): Promise<boolean> {
    const coin = board.coins.get(symbol)
    const days = coin && (await this.#closedDays(symbol, board))
    if (coin === undefined || days === undefined) return false
    const rows = withDay(days.rows, board.todayRows.get(symbol))
    const history = createHistory(rows, coin, board.minute)
    const plain = newestDays(history, USUAL_DAYS)
    const start = await this.#startOf(history, plain)
    const usual = { ...plain, coded: endedWith(start, history.tail) }
    const { revision, readOn, corrupt } = days
    this.#held.set(symbol, { rows, revision, readOn, corrupt, board, history, usual, start })
    return true
  }

  /** Compressed again only when there is more to it than a new state of the newest row. */
  async #startOf({ symbol, rows }: History, { plain }: Document): Promise<CompressedStart | undefined> {
    const held = this.#held.get(symbol)
    const [head] = held?.usual.plain ?? []
    const isHeld = held?.rows.closed === rows.closed && head !== undefined && plain[0]?.equals(head)
    return isHeld ? held.start : await compressStart(plain.slice(0, -1))
  }

  /** The days held while they are up to date; else those in Redis; the ones held when they can't be read. */
  async #closedDays(symbol: string, { today, revisions }: HistoryBoard): Promise<ReadDays | undefined> {
    const held = this.#held.get(symbol)
    const revision = revisions.get(symbol)
    if (held?.readOn === today && held.revision === revision) return held
    if (this.#clock.now() < (this.#failed.get(symbol) ?? 0)) return held
    try {
      const { entries, corrupt } = await this.#reader.readDays(symbol)
      this.#failed.delete(symbol)
      if (this.#failed.size === 0) this.#failures = 0
      return { rows: dayRows(entries), revision, readOn: today, corrupt }
    } catch (thrown) {
      this.#failed.set(symbol, this.#clock.now() + RETRY_MS)
      this.#failures += 1
      const failures = this.#failures
      if (isWorthALine(failures)) this.#log.warn({ err: thrown, symbol, failures }, 'history not read')
      return held
    }
  }
}
