import {
  type Context,
  type EpochMinute,
  type EpochMs,
  KimchiError,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import type { Board, KnownCoin, SampleReader } from '@kimchi/store'
import { compress, createDocument, type Document } from './document.ts'
import { createHistories, type Histories, type HistoryReader } from './histories.ts'
import { renderLiveList } from './live-list.ts'
import { openRefresher, type Refresher } from './refresher.ts'
import { toLiveRow } from './wire.ts'

/** The part of the store's reader that documents are built from. */
export type DocumentReader = HistoryReader & Pick<SampleReader, 'readBoard'>

/** What the documents are built from, and with. */
export interface DocumentsOptions extends Pick<Context, 'clock' | 'log'> {
  readonly reader: DocumentReader
}

/** How the documents are doing, for readiness and metrics. */
export interface DocumentsStatus {
  /** Newest snapshot served; undefined before the first. */
  readonly newestMinute: EpochMinute | undefined
  readonly coins: number
  readonly histories: number
  readonly refreshed: number
  readonly refreshesFailed: number
  /** Entries skipped in the last read because they could not be understood. */
  readonly corrupt: number
  /** Why the last read brought nothing, undefined when it did. */
  readonly problem: string | undefined
}

/** Backfill writes many older minutes at once; they are read together. */
const BACKFILL_PAUSE_MS: Milliseconds = 1_000

/** How often the safety net looks, and the age of the last good read at which it reads itself. */
const POLL_MS: Milliseconds = 2_000
const POLL_AFTER_MS: Milliseconds = 65_000

/** The longest that a request waits for Redis, and only when nothing is at hand. */
const PATIENCE_MS: Milliseconds = 1_000

/**
 * The response bodies of both routes, held in memory and built from one read per minute. A request takes what is at hand;
 * when Redis is away that is the last good state.
 */
export interface Documents {
  /** The live list at hand; undefined when nothing was ever published. */
  live(): Document | undefined
  /** Newest snapshot served; undefined before the first. */
  newestMinute(): EpochMinute | undefined
  /** The coin of an upper case symbol; null when it is not tracked, undefined when that is not known yet. */
  coin(symbol: string): KnownCoin | null | undefined
  /** Whether Redis was read and no coin was ever tracked. */
  isEmpty(): boolean
  /** The newest `days` rows of a coin's history at hand; undefined when its closed days were not read yet. */
  history(coin: KnownCoin, days: number): Document | undefined
  /** Waits, a second at most, for the first read. */
  firstBoard(): Promise<void>
  /** Waits, a second at most, for a coin's closed days, read once however many ask. */
  loadHistory(coin: KnownCoin): Promise<void>
  /** A minute was written: the newest is read at once, an older one (backfill) within a second. */
  onMinute(minute: EpochMinute): void
  /** Redis is there (again): everything is read again, because messages were missed. */
  onReconnect(): Promise<void>
  status(): DocumentsStatus
  /** Reads nothing more. What is at hand can still be asked for. Idempotent. */
  close(): void
}

/** {@link Documents} that are kept up to date until closed. */
export function openDocuments(options: DocumentsOptions): Documents {
  return new PolledDocuments(options)
}

class PolledDocuments implements Documents {
  readonly #reader: DocumentReader
  readonly #clock: Context['clock']
  readonly #log: Context['log']
  readonly #refresher: Refresher
  readonly #histories: Histories
  readonly #closed = new AbortController()
  #coins: ReadonlyMap<string, KnownCoin> | undefined
  #live: Document | undefined
  #newestMinute: EpochMinute | undefined
  #readAt: EpochMs | undefined
  #refreshed = 0
  #refreshesFailed = 0
  #corrupt = 0
  #problem: string | undefined

  constructor({ reader, clock, log }: DocumentsOptions) {
    this.#reader = reader
    this.#clock = clock
    this.#log = log
    this.#refresher = openRefresher(() => this.#refresh(), clock)
    this.#histories = createHistories({ reader, log })
    void this.#poll()
  }

  live(): Document | undefined {
    return this.#live
  }

  newestMinute(): EpochMinute | undefined {
    return this.#newestMinute
  }

  coin(symbol: string): KnownCoin | null | undefined {
    return this.#coins === undefined ? undefined : (this.#coins.get(symbol) ?? null)
  }

  isEmpty(): boolean {
    return this.#coins?.size === 0
  }

  history(coin: KnownCoin, days: number): Document | undefined {
    return this.#histories.document(coin, days)
  }

  async firstBoard(): Promise<void> {
    if (this.#coins === undefined && this.#problem === undefined)
      await this.#patiently(this.#refresher.running ?? this.#refresher.now())
  }

  async loadHistory(coin: KnownCoin): Promise<void> {
    if (this.#problem === undefined) await this.#patiently(this.#histories.load(coin.symbol))
  }

  onMinute(minute: EpochMinute): void {
    if (this.#newestMinute === undefined || minute >= this.#newestMinute) void this.#refresher.now()
    else void this.#refresher.soon(BACKFILL_PAUSE_MS)
  }

  async onReconnect(): Promise<void> {
    this.#histories.invalidate()
    await this.#refresher.now()
  }

  status(): DocumentsStatus {
    return {
      newestMinute: this.#newestMinute,
      coins: this.#coins?.size ?? 0,
      histories: this.#histories.size,
      refreshed: this.#refreshed,
      refreshesFailed: this.#refreshesFailed,
      corrupt: this.#corrupt + this.#histories.corrupt,
      problem: this.#problem,
    }
  }

  close(): void {
    this.#closed.abort()
    this.#refresher.close()
  }

  async #poll(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      await this.#clock.wait(POLL_MS, this.#closed.signal)
      if (this.#isDue()) await this.#refresher.now()
    }
  }

  #isDue(): boolean {
    if (this.#readAt === undefined || this.#problem !== undefined) return true
    return this.#clock.now() - this.#readAt > POLL_AFTER_MS
  }

  async #refresh(): Promise<void> {
    try {
      this.#take(await this.#reader.readBoard())
    } catch (thrown) {
      this.#refreshesFailed += 1
      // Before the first ingester there is nothing to read, which is no fault.
      const level = thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_NOT_READY' ? 'info' : 'warn'
      if (this.#problem === undefined) this.#log[level]({ err: thrown }, 'documents not refreshed')
      this.#problem = `Redis could not be read: ${messageOf(thrown)}`
    }
  }

  #take(board: Board): void {
    this.#readAt = this.#clock.now()
    this.#refreshed += 1
    this.#corrupt = board.corrupt
    if (board.coins.length === 0 && this.#coins !== undefined && this.#coins.size > 0) {
      // Someone emptied Redis. What was true a moment ago is a better answer than none until it is filled again.
      this.#histories.invalidate()
      this.#problem = 'Redis is empty, the last good documents are served'
      return
    }
    if (this.#problem !== undefined) this.#log.info({}, 'documents are refreshed again')
    this.#problem = undefined
    this.#coins = new Map(board.coins.map(coin => [coin.symbol, coin]))
    this.#histories.update(board)
    const { rows, prices = 'live' } = board
    if (rows.length === 0) return
    this.#newestMinute = Math.max(...rows.map(row => row.minute))
    const named = rows.map(row => toLiveRow(row, this.#coins?.get(row.symbol)?.name ?? row.symbol))
    const document = createDocument(renderLiveList(named, prices, this.#newestMinute))
    if (document.hash === this.#live?.hash) return
    this.#live = document
    void compress(document, true)
  }

  async #patiently(work: Promise<unknown>): Promise<void> {
    const done = new AbortController()
    await Promise.race([work, this.#clock.wait(PATIENCE_MS, done.signal)])
    done.abort()
    // Under load the reply may have arrived long ago and only wait to be read.
    await new Promise(resolve => setImmediate(resolve))
  }
}
