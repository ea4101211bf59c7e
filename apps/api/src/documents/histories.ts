import type { Context, EpochMinute, EpochMs, Milliseconds, UtcDate } from '@kimchi/core'
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
  readonly compressed: CompressedStart | undefined
}

/** A history that could not be read isn't asked for again before this. */
const RETRY_MS: Milliseconds = 10_000

const USUAL_DAYS = daysSchema.default

/** {@link Histories} without any yet. */
export function createHistories({ reader, clock, log }: HistoriesOptions): Histories {
  const held = new Map<string, Held>()
  const loading = new Map<string, Promise<void>>()
  const readClosed = createDayReader({ reader, clock, log })
  let newest: HistoryBoard | undefined

  const load = (symbol: string) => {
    const work = loading.get(symbol) ?? start(symbol)
    loading.set(symbol, work)
    return work
  }
  const start = async (symbol: string) => {
    try {
      await bring(symbol)
    } catch (thrown) {
      log.error({ err: thrown, symbol }, 'history not built')
    } finally {
      loading.delete(symbol)
    }
  }
  const bring = async (symbol: string) => {
    for (let board = newest; board !== undefined; board = newest) {
      if (held.get(symbol)?.board === board || !(await build(symbol, board))) return
    }
  }
  /** Whether there is a history of this board now. */
  const build = async (symbol: string, board: HistoryBoard) => {
    const before = held.get(symbol)
    const coin = board.coins.get(symbol)
    const days = coin && (await readClosed(symbol, board, before))
    if (coin === undefined || days === undefined) return false
    const rows = withDay(days.rows, board.todayRows.get(symbol))
    const history = createHistory(rows, coin, board.minute)
    const plain = newestDays(history, USUAL_DAYS)
    const compressed = await startOf(history, plain, before)
    const usual = { ...plain, coded: endedWith(compressed, history.tail) }
    const { revision, readOn, corrupt } = days
    held.set(symbol, { rows, revision, readOn, corrupt, board, history, usual, compressed })
    return true
  }

  /** Its days are served on, and read again. */
  const forget = (symbol: string, history: Held) => held.set(symbol, { ...history, readOn: undefined })

  return {
    get size() {
      return held.size
    },
    get corrupt() {
      return [...held.values()].reduce((sum, { corrupt }) => sum + corrupt, 0)
    },
    document(symbol, days) {
      const { history, usual } = held.get(symbol) ?? {}
      if (history === undefined) return undefined
      const isUsual = countOf(history.rows, days) === countOf(history.rows, USUAL_DAYS)
      return isUsual ? usual : newestDays(history, days)
    },
    load,
    async update(board) {
      for (const [symbol, history] of held)
        if (newest !== undefined && hasShrunk(symbol, newest, board)) forget(symbol, history)
      newest = board
      // One coin at a time, to spare Redis and the other replicas of this machine. A newer board has a pass
      // of its own.
      for (const symbol of [...held.keys()]) if (newest === board) await load(symbol)
    },
    invalidate() {
      for (const [symbol, history] of held) forget(symbol, history)
    },
  }
}

/** What a coin has only grows, unless Redis was emptied, or an older copy of it has taken its place. */
function hasShrunk(symbol: string, before: HistoryBoard, board: HistoryBoard): boolean {
  if ((board.revisions.get(symbol) ?? 0) < (before.revisions.get(symbol) ?? 0)) return true
  const samplesOf = ({ todayRows }: HistoryBoard) => todayRows.get(symbol)?.samples ?? 0
  return board.today === before.today && samplesOf(board) < samplesOf(before)
}

/** Compressed again only when there is more to it than a new state of the newest row. */
async function startOf({ rows, tail }: History, { plain }: Document, before: Held | undefined) {
  const [head] = before?.usual.plain ?? []
  const isHeld = before?.history.rows.closed === rows.closed && head !== undefined && plain[0]?.equals(head)
  return (isHeld ? before.compressed : undefined) ?? (await compressStart(plain.slice(0, -1), tail.length))
}

/** Reads closed days: those held while they are up to date or others can't be read, else those in Redis. */
function createDayReader({ reader, clock, log }: HistoriesOptions) {
  /** When to try again, by coin. */
  const retries = new Map<string, EpochMs>()
  let failures = 0
  return async (
    symbol: string,
    { today, revisions }: HistoryBoard,
    held: Held | undefined,
  ): Promise<ReadDays | undefined> => {
    const revision = revisions.get(symbol)
    if (held?.readOn === today && held.revision === revision) return held
    if (clock.now() < (retries.get(symbol) ?? 0)) return held
    try {
      const { entries, corrupt } = await reader.readDays(symbol)
      retries.delete(symbol)
      if (retries.size === 0) failures = 0
      return { rows: dayRows(entries), revision, readOn: today, corrupt }
    } catch (thrown) {
      retries.set(symbol, clock.now() + RETRY_MS)
      failures += 1
      if (isWorthALine(failures)) log.warn({ err: thrown, symbol, failures }, 'history not read')
      return held
    }
  }
}
