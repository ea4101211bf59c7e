import type { EpochMinute, EpochMs, Milliseconds } from '@kimchi/core'
import { KimchiError, messageOf, minuteStart } from '@kimchi/core'
import type { Reason } from '@kimchi/runtime'
import { type Board, isRefusal } from '@kimchi/store'
import pLimit from 'p-limit'
import { compressedBody, type Document, NEXT_AFTER_MS, QUALITY } from './document.ts'
import { Histories, type Sources } from './histories.ts'
import { renderLiveList } from './live-list.ts'

/** How the documents are doing, for readiness and metrics. */
export type DocumentsStatus = ReturnType<Documents['status']>

/** Backfill writes many older minutes in a row; one read covers them. */
const BACKFILL_PAUSE_MS: Milliseconds = 1_000

/** How often it looks whether a read is due: it may become due sooner, and the clock may be set. */
const STEP_MS: Milliseconds = 1_000

/** Redis is polled this often while a minute is overdue. */
const POLL_MS: Milliseconds = 2_000

/** The longest that a request waits for Redis, when its document is not in memory. */
const LOADED_WITHIN_MS: Milliseconds = 1_000

/**
 * The response bodies of both routes, held in memory and built from one read per minute, until closed. While
 * Redis is away the last good ones stay.
 */
export class Documents {
  readonly #sources: Sources
  readonly #histories: Histories
  readonly #closed = new AbortController()
  /** The board of the last successful read, served while Redis is away. */
  #board: Board | undefined
  #live: Document | undefined
  /** When Redis is to be read without a message of a newer minute. */
  #readAt: EpochMs
  readonly #reads = pLimit(1)
  /** The read that has not begun yet. */
  #nextRead: Promise<void> | undefined
  #problem: Reason | undefined

  constructor(sources: Sources) {
    this.#sources = sources
    this.#readAt = sources.clock.now() + POLL_MS
    this.#histories = new Histories(sources)
  }

  /** The live list in memory; undefined before the first one was read. */
  live(): Document | undefined {
    return this.#live
  }

  /**
   * The newest `days` rows of an upper case symbol's history in memory; null when no such coin is tracked,
   * undefined when that or its days were not read yet.
   */
  history(symbol: string, days: number): Document | null | undefined {
    return this.#histories.document(symbol, days)
  }

  /** Waits, a second at most, until Redis and, with a symbol, the coin's days have been read. */
  async load(symbol = ''): Promise<void> {
    if (this.#problem !== undefined) return
    const read = async () => {
      if (this.#board === undefined) await this.#read()
      if (symbol !== '') await this.#histories.load(symbol)
    }
    const done = new AbortController()
    await Promise.race([read(), this.#sources.clock.wait(LOADED_WITHIN_MS, done.signal)])
    done.abort()
    // Under load the reply may wait in the socket: one more turn of the event loop reads it.
    await new Promise(resolve => setImmediate(resolve))
  }

  /** A minute was written: the newest is read at once, an older one (backfill) within a second. */
  onMinute(minute: EpochMinute): void {
    if (this.#live === undefined || minute >= this.#live.minute) void this.#read()
    else this.#readAt = Math.min(this.#readAt, this.#sources.clock.now() + BACKFILL_PAUSE_MS)
  }

  /** Redis answers (again): reads everything again, because messages were missed. */
  async onReconnect(): Promise<void> {
    this.#histories.invalidate()
    await this.#read()
  }

  /**
   * Reads older minutes, and an overdue one without a message, because a connection may be dead without an error.
   * Ends when closed.
   */
  async poll(): Promise<void> {
    const { clock } = this.#sources
    const { signal } = this.#closed
    while (!signal.aborted) {
      await clock.wait(Math.min(STEP_MS, this.#readAt - clock.now()), signal)
      if (clock.now() >= this.#readAt) await this.#read()
    }
  }

  status() {
    const { coins = [], rows = [], corrupt = 0 } = this.#board ?? {}
    return {
      /** Newest snapshot served; undefined before the first. */
      newestMinute: this.#live?.minute,
      /** Coins that are published, with a row or without one yet. */
      tracked: coins.filter(({ order }) => order !== undefined).length,
      /** One for each row of the live list. */
      rowMinutes: rows.map(({ minute }) => minute),
      /** Entries skipped in the last read because they could not be understood. */
      corrupt: corrupt + this.#histories.corrupt,
      /** Why the last read failed; undefined when it did not. */
      problem: this.#problem,
    }
  }

  /** Reads nothing more; what is in memory can still be asked for. Idempotent. */
  close(): void {
    this.#closed.abort()
  }

  /** Reads Redis. A read under way may miss what the caller knows of, so one more follows it, for all callers. */
  #read(): Promise<void> {
    this.#nextRead ??= this.#reads(() => {
      this.#nextRead = undefined
      return this.#refresh()
    })
    return this.#nextRead
  }

  async #refresh(): Promise<void> {
    if (this.#closed.signal.aborted) return
    this.#readAt = Number.POSITIVE_INFINITY
    try {
      await this.#publish(await this.#sources.reader.readBoard())
    } catch (thrown) {
      // Before the first ingester there is nothing to read; that is no fault.
      const level = thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_NOT_READY' ? 'info' : 'warn'
      if (this.#problem === undefined) this.#sources.log[level]({ err: thrown }, 'documents not refreshed')
      this.#problem = problemOf(thrown)
    }
    const now = this.#sources.clock.now()
    // A clock that is behind must not keep Redis from being read.
    const dueAt = Math.min(minuteStart(this.#live?.minute ?? 0), now) + NEXT_AFTER_MS
    const isDue = this.#problem !== undefined || now >= dueAt
    this.#readAt = Math.min(this.#readAt, isDue ? now + POLL_MS : dueAt)
  }

  async #publish(board: Board): Promise<void> {
    const list = renderLiveList(board)
    if (list === undefined && this.#live !== undefined) {
      // Somebody emptied Redis. Until it holds a minute again, the answers of a moment ago are better than none.
      this.#histories.invalidate()
      this.#problem = { reason: 'redis', text: 'Redis is empty, the last good documents are served' }
      return
    }
    if (this.#problem !== undefined) this.#sources.log.info({}, 'documents are refreshed again')
    this.#problem = undefined
    this.#board = board
    if (list === undefined) return
    if (list.tag !== this.#live?.tag) {
      // Its own queue, so that it never waits for histories.
      const compressed = compressedBody(list.body, pLimit(2), QUALITY.list)
      // In any other coding it is compressed when somebody asks.
      await Promise.all((this.#live?.compressed?.codings() ?? []).map(compressed.make))
      this.#live = { ...list, compressed }
    }
    void this.#histories.update(board)
  }
}

/** Why Redis could not be read, as `/ready` says it. */
function problemOf(thrown: unknown): Reason {
  const message = messageOf(thrown)
  if (isRefusal(thrown)) return { reason: 'redis-refuses', text: `Redis refuses: ${message}` }
  const isAway = thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_REDIS'
  return { reason: 'redis', text: `Redis ${isAway ? 'is away' : 'could not be read'}: ${message}` }
}
