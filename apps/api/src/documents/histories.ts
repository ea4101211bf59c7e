import { type Context, isWorthALine, type UtcDate } from '@kimchi/core'
import type { Board, KnownCoin, SampleReader } from '@kimchi/store'
import pLimit from 'p-limit'
import { type DayRows, dayRows, withDay } from './day-rows.ts'
import type { Document } from './document.ts'
import { createHistory, type History } from './history.ts'
import { newestMinute } from './live-list.ts'

/** Where documents come from, and what they are built with. */
export interface Sources extends Pick<Context, 'clock' | 'log'> {
  readonly reader: Pick<SampleReader, 'readBoard' | 'readDays'>
}

/** A coin's days, and when the closed ones were read: another revision or date means that they are read again. */
interface ReadDays {
  readonly rows: DayRows
  readonly revision: number | undefined
  /** Undefined when they may have changed since. */
  readonly readOn: UtcDate | undefined
  /** Days that were unreadable and are left out. */
  readonly corrupt: number
}

interface Held extends ReadDays {
  readonly history: History
}

/** How many bodies are compressed at a time: there are few cores. */
const COMPRESSED_AT_A_TIME = 2

/** How many histories are read at a time: while one is read, each of its days is an object. */
const READ_AT_A_TIME = 4

/**
 * The histories requested so far. A coin's closed days are read at the first request, and again with the next
 * board when that failed, or when its revision or the UTC date changed; today's row comes with each board. Until
 * the new documents are built the old ones are served. Memory grows with the number of coins, never with that of
 * requests.
 */
export class Histories {
  readonly #sources: Sources
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Promise<void>>()
  readonly #compressions = pLimit(COMPRESSED_AT_A_TIME)
  readonly #readers = pLimit(READ_AT_A_TIME)
  #board: Board | undefined
  #coins: ReadonlyMap<string, KnownCoin> = new Map()
  /** With which board each coin was loaded last, whether or not its days could be read. */
  readonly #loadedWith = new Map<string, Board>()
  /** Coins whose last read failed. */
  readonly #unread = new Set<string>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Unreadable days that the histories in memory leave out. */
  get corrupt(): number {
    return [...this.#held.values()].reduce((sum, { corrupt }) => sum + corrupt, 0)
  }

  /** The newest `days` rows of a coin; null when it was never tracked, undefined before {@link Histories.load}. */
  document(symbol: string, days: number): Document | null | undefined {
    const isUnknown = this.#coins.size > 0 && !this.#coins.has(symbol)
    return isUnknown ? null : this.#held.get(symbol)?.history.document(days)
  }

  /**
   * Brings a coin's history up to the newest board; calls at the same time share one run. Does not reject.
   */
  load(symbol: string): Promise<void> {
    const running = this.#loading.get(symbol)
    if (running !== undefined) return running
    const work = this.#readers(() => this.#load(symbol)).finally(() => this.#loading.delete(symbol))
    this.#loading.set(symbol, work)
    return work
  }

  /** Brings every history that was requested up to a new board. Does not reject. */
  async update(board: Board): Promise<void> {
    this.#board = board
    this.#coins = new Map(board.coins.map(coin => [coin.symbol, coin]))
    // One coin at a time, to spare Redis and the other replicas on this machine. A newer board ends this
    // pass and starts its own.
    for (const symbol of [...this.#loadedWith.keys()]) if (this.#board === board) await this.load(symbol)
  }

  /** Redis was away: closed days may have changed meanwhile, and are read again with the next board. */
  invalidate(): void {
    for (const [symbol, held] of this.#held) this.#held.set(symbol, { ...held, readOn: undefined })
  }

  async #load(symbol: string): Promise<void> {
    for (let board = this.#board; board !== undefined; board = this.#board) {
      const coin = this.#coins.get(symbol)
      if (coin === undefined || this.#loadedWith.get(symbol) === board) return
      this.#loadedWith.set(symbol, board)
      const held = this.#held.get(symbol)
      const days = await this.#readDays(symbol, board, held)
      if (days === undefined) continue
      const rows = withDay(days.rows, board.todayRows.get(symbol))
      const history = createHistory(rows, coin, newestMinute(board), this.#compressions)
      // While backfill writes, boards of one minute follow each other: most histories stay as they are.
      const isSame = held?.history.minute === history.minute && held.history.hash === history.hash
      this.#held.set(symbol, { ...days, rows, history: isSame ? held.history : history })
    }
  }

  /** Closed days: those in memory while they are up to date or Redis can't be read, else those in Redis. */
  async #readDays(symbol: string, board: Board, held: Held | undefined): Promise<ReadDays | undefined> {
    const { today } = board
    const revision = board.revisions.get(symbol)
    const isUpToDate = held?.readOn === today && held.revision === revision
    if (isUpToDate && !hasShrunk(held.rows, symbol, board)) return held
    try {
      const { entries, corrupt } = await this.#sources.reader.readDays(symbol)
      this.#unread.delete(symbol)
      return { rows: dayRows(entries), revision, readOn: today, corrupt }
    } catch (thrown) {
      const isNew = !this.#unread.has(symbol)
      const { size: unread } = this.#unread.add(symbol)
      if (isNew && isWorthALine(unread))
        this.#sources.log.warn({ err: thrown, symbol, unread }, 'history not read')
      return held
    }
  }
}

/** A day's samples only grow, unless Redis was emptied or replaced by an older copy. */
function hasShrunk({ last }: DayRows, symbol: string, { today, todayRows }: Board): boolean {
  return last?.date === today && last.samples > (todayRows.get(symbol)?.samples ?? 0)
}
