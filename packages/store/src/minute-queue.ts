import { type Context, type EpochMinute, type EpochMs, KimchiError, type Milliseconds } from '@kimchi/core'
import type { RedisConnection } from './redis/connect.ts'
import { isRetryable } from './redis/redis-error.ts'
import type { SampleBatch, SampleWriter, WriteResult } from './writer.ts'

/** 24 hours of minutes. */
const DEFAULT_CAPACITY = 1_440
const FIRST_RETRY_MS: Milliseconds = 200
const MAX_RETRY_MS: Milliseconds = 5_000

/**
 * A primary that dies may lose what it had confirmed but not yet replicated, so a confirmed minute is kept
 * this long to be sent again.
 */
const KEPT_AFTER_MS: Milliseconds = 600_000

/** How a queue is opened. */
export interface MinuteQueueOptions extends Pick<Context, 'clock' | 'random' | 'log'> {
  readonly writer: Pick<SampleWriter, 'write'>
  /** The writer's connection. */
  readonly redis: Pick<RedisConnection, 'onStatus'>
  /** Batches kept while Redis is away; beyond, the oldest is dropped. @default 1440 */
  readonly capacity?: number
  /** Called when Redis confirmed a batch for the first time. */
  readonly onWritten?: (batch: SampleBatch, result: WriteResult) => void
  /**
   * Called once when writing can never succeed (`KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_LAYOUT`); the queue
   * stops.
   */
  readonly onFatal: (error: KimchiError) => void
}

/** What became of all that a queue was given so far. */
export interface QueueTotals {
  readonly stored: number
  readonly duplicates: number
  readonly refused: number
  /** Batches lost because the queue was full. */
  readonly dropped: number
  /** Batches lost because they could not be encoded. */
  readonly rejected: number
  /** Failed attempts; each was repeated. */
  readonly retries: number
  /** Confirmed batches that were sent again, because another primary may have taken over. */
  readonly resent: number
  /** Samples that were stored only by sending them again. */
  readonly recovered: number
}

/** How a queue is doing. */
export interface QueueStatus {
  /** Batches not yet confirmed, or to be confirmed again. */
  readonly waiting: number
  /** Newest minute that Redis has confirmed. */
  readonly lastWrittenMinute: EpochMinute | undefined
  /** Why the last attempt failed; undefined while writing works. */
  readonly problem: string | undefined
  /** Symbols whose samples Redis refused because one of their keys is damaged, until one is stored again. */
  readonly damaged: readonly string[]
  readonly totals: QueueTotals
}

/** A batch, and when Redis confirmed it. */
interface Entry {
  readonly batch: SampleBatch
  readonly confirmedAt: EpochMs | undefined
}

/**
 * Minutes on their way to Redis, oldest first. A minute is kept until Redis has confirmed it, so a write that
 * timed out is repeated; and for 10 minutes more, so that it is sent again after every reconnect and when
 * another primary answers. Writing twice is harmless. Starts by itself with the first {@link enqueue}.
 */
export class MinuteQueue {
  readonly #options: MinuteQueueOptions
  readonly #stopListening: () => void
  readonly #closing = new AbortController()
  /** What is to be written, oldest first. */
  #waiting: Entry[] = []
  /** What was confirmed and may be sent again. */
  #confirmed: Entry[] = []
  #primary: string | undefined
  /** Aborts the wait before the next attempt. */
  #hurry = new AbortController()
  #draining: Promise<void> | undefined
  #isWriting = false
  #isHurried = false
  #lastWrittenMinute: EpochMinute | undefined
  #problem: string | undefined
  readonly #damaged = new Set<string>()
  #fatal: KimchiError | undefined
  readonly #totals = {
    stored: 0,
    duplicates: 0,
    refused: 0,
    dropped: 0,
    rejected: 0,
    retries: 0,
    resent: 0,
    recovered: 0,
  }

  constructor(options: MinuteQueueOptions) {
    this.#options = options
    this.#stopListening = options.redis.onStatus(({ ready }) => {
      if (ready) this.#sendAgain('Redis is connected again')
    })
  }

  status(): QueueStatus {
    return {
      waiting: this.#waiting.length,
      lastWrittenMinute: this.#lastWrittenMinute,
      problem: this.#problem,
      damaged: [...this.#damaged],
      totals: { ...this.#totals },
    }
  }

  /** Never throws and never waits. After a fatal error or {@link close}, batches are dropped. */
  enqueue(batch: SampleBatch): void {
    if (this.#isOver()) {
      this.#totals.dropped += 1
      return
    }
    if (this.#waiting.length >= (this.#options.capacity ?? DEFAULT_CAPACITY)) this.#dropOldest()
    this.#waiting.push({ batch, confirmedAt: undefined })
    this.#start()
  }

  /** Writes what is left without long waits between attempts; false when something is left after `limitMs`. */
  async flush(limitMs: Milliseconds): Promise<boolean> {
    const limit = new AbortController()
    this.#isHurried = true
    this.#hurry.abort()
    await Promise.race([this.#draining, this.#options.clock.wait(limitMs, limit.signal)])
    limit.abort()
    this.#isHurried = false
    return this.#waiting.length === 0
  }

  /** Stops writing; what is left is lost. Call {@link flush} first. */
  close(): void {
    this.#stopListening()
    this.#closing.abort()
    this.#hurry.abort()
  }

  /** There is something to write, so that a drain waits at least once and never ends before it is kept here. */
  #start(): void {
    this.#draining ??= this.#drain()
  }

  async #drain(): Promise<void> {
    let failures = 0
    for (let entry = this.#waiting[0]; entry !== undefined && !this.#isOver(); entry = this.#waiting[0]) {
      this.#isWriting = true
      const outcome = await this.#options.writer.write(entry.batch).catch(toError)
      this.#isWriting = false
      if (!(outcome instanceof Error)) {
        this.#confirm(entry, outcome)
        failures = 0
      } else if (isRetryable(outcome)) {
        this.#complain(outcome)
        await this.#pause(failures++)
      } else {
        this.#giveUp(entry.batch, outcome)
      }
    }
    this.#draining = undefined
  }

  #confirm({ batch, confirmedAt }: Entry, result: WriteResult): void {
    const { clock, log, onWritten } = this.#options
    this.#waiting.shift()
    this.#lastWrittenMinute = Math.max(batch.minute, this.#lastWrittenMinute ?? batch.minute)
    for (const { symbol } of batch.samples) this.#damaged.delete(symbol)
    for (const { symbol, reason } of result.refused) if (reason === 'damaged') this.#damaged.add(symbol)
    if (confirmedAt === undefined) {
      this.#totals.stored += result.stored
      this.#totals.duplicates += result.duplicates
      this.#totals.refused += result.refused.length
    } else {
      this.#totals.resent += 1
      this.#totals.recovered += result.stored
    }
    if (this.#problem !== undefined) {
      log.info({ waiting: this.#waiting.length }, 'writing works again')
      this.#problem = undefined
    }
    const isOther = this.#primary !== undefined && this.#primary !== result.primary
    this.#primary = result.primary
    if (isOther) this.#sendAgain('another primary answers')
    this.#confirmed.push({ batch, confirmedAt: clock.now() })
    this.#forgetOld()
    if (confirmedAt === undefined) onWritten?.(batch, result)
  }

  /**
   * Puts confirmed batches before the waiting ones, but after the one being written: its reply removes the
   * first entry.
   */
  #sendAgain(reason: string): void {
    this.#forgetOld()
    if (this.#confirmed.length === 0 || this.#isOver()) return
    this.#options.log.info({ minutes: this.#confirmed.length, reason }, 'sending confirmed minutes again')
    this.#waiting.splice(this.#isWriting ? 1 : 0, 0, ...this.#confirmed)
    this.#confirmed = []
    this.#start()
  }

  /** A clock that was set back keeps them for longer, which costs only memory. */
  #forgetOld(): void {
    const oldest = this.#options.clock.now() - KEPT_AFTER_MS
    this.#confirmed = this.#confirmed.filter(({ confirmedAt = 0 }) => confirmedAt > oldest)
  }

  /** Stops for good, or drops the one batch that is at fault. */
  #giveUp(batch: SampleBatch, error: Error): void {
    if (error instanceof KimchiError && error.code !== 'KIMCHI_ERR_CODEC') {
      this.#fatal = error
      this.#problem = error.message
      this.#options.onFatal(error)
      return
    }
    this.#waiting.shift()
    this.#totals.rejected += 1
    this.#options.log.error({ minute: batch.minute, err: error }, 'minute cannot be written')
  }

  #complain({ message }: Error): void {
    this.#totals.retries += 1
    if (this.#problem !== message) {
      this.#options.log.warn(
        { waiting: this.#waiting.length, reason: message },
        'writing fails, minutes wait',
      )
    }
    this.#problem = message
  }

  async #pause(attempt: number): Promise<void> {
    const { clock, random } = this.#options
    const ceiling = this.#isHurried ? FIRST_RETRY_MS : Math.min(FIRST_RETRY_MS * 2 ** attempt, MAX_RETRY_MS)
    this.#hurry = new AbortController()
    await clock.wait(Math.round(ceiling * (0.5 + random() / 2)), this.#hurry.signal)
  }

  /** The batch being written stays: Redis may have it already, and its confirmation will remove it. */
  #dropOldest(): void {
    const [lost] = this.#waiting.splice(this.#isWriting ? 1 : 0, 1)
    if (lost === undefined || lost.confirmedAt !== undefined) return
    this.#totals.dropped += 1
    const { minute } = lost.batch
    this.#options.log.error({ minute }, 'queue is full, the oldest minute is left to backfill')
  }

  #isOver(): boolean {
    return this.#fatal !== undefined || this.#closing.signal.aborted
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
