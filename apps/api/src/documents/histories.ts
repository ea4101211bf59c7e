import type { Context, EpochMinute, EpochMs, Milliseconds, UtcDate } from '@kimchi/core'
import { isWorthALine } from '@kimchi/core'
import type { Board, KnownCoin, SampleReader } from '@kimchi/store'
import type { Document } from './document.ts'
import { createHistory, type DayRows, dayRows, type History, hasSameRows, withDay } from './history.ts'
import { createQueue } from './queue.ts'

/** Where documents come from, and what they are built with. */
export interface Sources extends Pick<Context, 'clock' | 'log'> {
  readonly reader: Pick<SampleReader, 'readBoard' | 'readDays'>
}

export interface HistoryBoard extends Pick<Board, 'today' | 'todayRows' | 'revisions'> {
  readonly coins: ReadonlyMap<string, KnownCoin>
  /** The newest snapshot. */
  readonly minute: EpochMinute
}

/** Closed days, and when they were read: another revision or date means that they are read again. */
interface ReadDays {
  readonly rows: DayRows
  readonly revision: number | undefined
  /** Undefined when they may have changed since. */
  readonly readOn: UtcDate | undefined
  /** Days that were unreadable and are left out. */
  readonly corrupt: number
}

interface Held extends ReadDays {
  readonly board: HistoryBoard
  readonly history: History
}

/** How many bodies are compressed at a time: there are few cores. */
const COMPRESSED_AT_A_TIME = 2

/** How many histories are read at a time: while one is read, each of its days is an object. */
const READ_AT_A_TIME = 4

/** After a failed read a history is not read again for this long, unless Redis comes back. */
const RETRY_MS: Milliseconds = 10_000

/**
 * The histories requested so far. A coin's closed days are read at the first request, and again when its
 * revision or the UTC date changed; today's row comes with the board every minute. Until the new documents are
 * built the old ones are served. Memory grows with the number of coins, never with that of requests.
 */
export class Histories {
  readonly #sources: Sources
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Promise<void>>()
  readonly #compressions = createQueue(COMPRESSED_AT_A_TIME)
  readonly #readers = createQueue(READ_AT_A_TIME)
  #board: HistoryBoard | undefined
  /** When to try again, by coin. */
  #retries = new Map<string, EpochMs>()
  #failures = 0

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Unreadable days that the histories in memory leave out. */
  get corrupt(): number {
    return [...this.#held.values()].reduce((sum, { corrupt }) => sum + corrupt, 0)
  }

  /** The newest `days` rows of a coin; undefined before {@link Histories.load}. */
  document(symbol: string, days: number): Document | undefined {
    return this.#held.get(symbol)?.history(days)
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

  /** Brings every history in memory up to a new board. Does not reject. */
  async update(board: HistoryBoard): Promise<void> {
    for (const [symbol, held] of this.#held)
      if (this.#board !== undefined && hasShrunk(symbol, this.#board, board)) this.#forget(symbol, held)
    this.#board = board
    // One coin at a time, to spare Redis and the other replicas on this machine. A newer board ends this
    // pass and starts its own.
    for (const symbol of [...this.#held.keys()]) if (this.#board === board) await this.load(symbol)
  }

  /** Redis was away: closed days may have changed meanwhile, and failed reads may be tried again at once. */
  invalidate(): void {
    // A new map, so that a read under way that fails delays nothing.
    this.#retries = new Map()
    for (const [symbol, held] of this.#held) this.#forget(symbol, held)
  }

  /** Serves the coin's days until the next board, and reads them again then. */
  #forget(symbol: string, held: Held): void {
    this.#held.set(symbol, { ...held, readOn: undefined })
  }

  async #load(symbol: string): Promise<void> {
    try {
      for (let board = this.#board; board !== undefined; board = this.#board) {
        const held = this.#held.get(symbol)
        const coin = board.coins.get(symbol)
        if (coin === undefined || held?.board === board) return
        const days = await this.#readDays(symbol, board, held)
        if (days === undefined) return
        const rows = withDay(days.rows, board.todayRows.get(symbol))
        // While backfill writes, boards of one minute follow each other: most histories stay as they are.
        const isSame = held?.board.minute === board.minute && hasSameRows(held.rows, rows)
        const history = isSame ? held.history : createHistory(rows, coin, board.minute, this.#compressions)
        this.#held.set(symbol, { ...days, rows, board, history })
      }
    } catch (thrown) {
      this.#sources.log.error({ err: thrown, symbol }, 'history not built')
    }
  }

  /** Closed days: those in memory while they are up to date or Redis can't be read, else those in Redis. */
  async #readDays(
    symbol: string,
    { today, revisions }: HistoryBoard,
    held: Held | undefined,
  ): Promise<ReadDays | undefined> {
    const [revision, retries] = [revisions.get(symbol), this.#retries]
    if (held?.readOn === today && held.revision === revision) return held
    if (this.#sources.clock.now() < (retries.get(symbol) ?? 0)) return held
    try {
      const { entries, corrupt } = await this.#sources.reader.readDays(symbol)
      retries.delete(symbol)
      if (retries.size === 0) this.#failures = 0
      return { rows: dayRows(entries), revision, readOn: today, corrupt }
    } catch (thrown) {
      retries.set(symbol, this.#sources.clock.now() + RETRY_MS)
      this.#failures += 1
      if (isWorthALine(this.#failures))
        this.#sources.log.warn({ err: thrown, symbol, failures: this.#failures }, 'history not read')
      return held
    }
  }
}

/** A coin's samples only grow, unless Redis was emptied or replaced by an older copy. */
function hasShrunk(symbol: string, before: HistoryBoard, board: HistoryBoard): boolean {
  if ((board.revisions.get(symbol) ?? 0) < (before.revisions.get(symbol) ?? 0)) return true
  const samplesOf = ({ todayRows }: HistoryBoard) => todayRows.get(symbol)?.samples ?? 0
  return board.today === before.today && samplesOf(board) < samplesOf(before)
}
