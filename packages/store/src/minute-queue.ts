import { type Context, type EpochMinute, KimchiError, type Milliseconds } from '@kimchi/core'
import { isRetryable } from './redis/redis-error.ts'
import type { SampleBatch, SampleWriter, WriteResult } from './writer.ts'

/** 24 hours of minutes. */
const DEFAULT_CAPACITY = 1_440
const FIRST_RETRY_MS: Milliseconds = 200
const MAX_RETRY_MS: Milliseconds = 5_000

/** How a queue is opened. */
export interface MinuteQueueOptions extends Pick<Context, 'clock' | 'random' | 'log'> {
  readonly writer: Pick<SampleWriter, 'write'>
  /** Batches kept while Redis is away; beyond, the oldest is dropped. @default 1440 */
  readonly capacity?: number
  /** Called when Redis confirmed a batch. */
  readonly onWritten?: (batch: SampleBatch, result: WriteResult) => void
  /** Called once when writing can never succeed (`KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_LAYOUT`); the queue stops. */
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
  /** Failed attempts; each was made again. */
  readonly retries: number
}

/** How a queue is doing. */
export interface QueueStatus {
  /** Batches not yet confirmed. */
  readonly waiting: number
  /** Newest minute that Redis has confirmed. */
  readonly lastWrittenMinute: EpochMinute | undefined
  /** Why the last attempt failed; undefined while writing works. */
  readonly problem: string | undefined
  readonly totals: QueueTotals
}

/**
 * Minutes on their way to Redis, oldest first. A minute is kept until Redis has confirmed it, so a write that timed
 * out is made again; writing twice is harmless. Starts by itself with the first {@link MinuteQueue.enqueue}.
 */
export interface MinuteQueue {
  status(): QueueStatus
  /** Takes a batch; never throws and never waits. After a fatal error or {@link close}, batches are dropped. */
  enqueue(batch: SampleBatch): void
  /** Writes what is left without long waits between attempts; false when something is left after `limitMs`. */
  flush(limitMs: Milliseconds): Promise<boolean>
  /** Stops writing; what is left is lost. Call {@link flush} first. */
  close(): void
}

/** Opens an empty {@link MinuteQueue}. */
export function openMinuteQueue(options: MinuteQueueOptions): MinuteQueue {
  return new BoundedQueue(options)
}

class BoundedQueue implements MinuteQueue {
  readonly #options: MinuteQueueOptions
  readonly #batches: SampleBatch[] = []
  readonly #closing = new AbortController()
  #hurry = new AbortController()
  #draining: Promise<void> = Promise.resolve()
  #isDraining = false
  #isWriting = false
  #isHurried = false
  #lastWrittenMinute: EpochMinute | undefined
  #problem: string | undefined
  #fatal: KimchiError | undefined
  #totals: QueueTotals = { stored: 0, duplicates: 0, refused: 0, dropped: 0, rejected: 0, retries: 0 }

  constructor(options: MinuteQueueOptions) {
    this.#options = options
  }

  status(): QueueStatus {
    return {
      waiting: this.#batches.length,
      lastWrittenMinute: this.#lastWrittenMinute,
      problem: this.#problem,
      totals: this.#totals,
    }
  }

  enqueue(batch: SampleBatch): void {
    if (this.#isOver()) {
      this.#count('dropped')
      return
    }
    if (this.#batches.length >= (this.#options.capacity ?? DEFAULT_CAPACITY)) this.#dropOldest()
    this.#batches.push(batch)
    if (this.#isDraining) return
    this.#isDraining = true
    this.#draining = this.#drain()
  }

  async flush(limitMs: Milliseconds): Promise<boolean> {
    const limit = new AbortController()
    this.#isHurried = true
    this.#hurry.abort()
    const timeUp = this.#options.clock.wait(limitMs, limit.signal)
    await Promise.race([this.#draining, timeUp])
    limit.abort()
    this.#isHurried = false
    return this.#batches.length === 0
  }

  close(): void {
    this.#closing.abort()
    this.#hurry.abort()
  }

  async #drain(): Promise<void> {
    let failures = 0
    for (let batch = this.#batches[0]; batch !== undefined && !this.#isOver(); batch = this.#batches[0]) {
      const outcome = await this.#attempt(batch)
      if (!(outcome instanceof Error)) {
        this.#confirm(batch, outcome)
        failures = 0
      } else if (isRetryable(outcome)) {
        this.#complain(outcome)
        await this.#pause(failures++)
      } else {
        this.#giveUp(batch, outcome)
      }
    }
    this.#isDraining = false
  }

  async #attempt(batch: SampleBatch): Promise<WriteResult | Error> {
    this.#isWriting = true
    try {
      return await this.#options.writer.write(batch)
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(String(thrown))
    } finally {
      this.#isWriting = false
    }
  }

  #confirm(batch: SampleBatch, result: WriteResult): void {
    this.#batches.shift()
    this.#lastWrittenMinute = Math.max(batch.minute, this.#lastWrittenMinute ?? batch.minute)
    this.#count('stored', result.stored)
    this.#count('duplicates', result.duplicates)
    this.#count('refused', result.refused.length)
    if (this.#problem !== undefined) {
      this.#options.log.info({ waiting: this.#batches.length }, 'writing works again')
      this.#problem = undefined
    }
    this.#options.onWritten?.(batch, result)
  }

  /** Stops for good, or takes out the one batch that is at fault. */
  #giveUp(batch: SampleBatch, error: Error): void {
    if (error instanceof KimchiError && error.code !== 'KIMCHI_ERR_CODEC') {
      this.#fatal = error
      this.#problem = error.message
      this.#options.onFatal(error)
      return
    }
    this.#batches.shift()
    this.#count('rejected')
    this.#options.log.error({ minute: batch.minute, err: error }, 'minute cannot be written')
  }

  #complain({ message }: Error): void {
    this.#count('retries')
    if (this.#problem !== message) {
      this.#options.log.warn(
        { waiting: this.#batches.length, reason: message },
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

  /** The batch being written stays: Redis may have it already, and its confirmation will take it out. */
  #dropOldest(): void {
    const [lost] = this.#batches.splice(this.#isWriting ? 1 : 0, 1)
    this.#count('dropped')
    if (lost !== undefined) {
      this.#options.log.error({ minute: lost.minute }, 'queue is full, the oldest minute is left to backfill')
    }
  }

  #isOver(): boolean {
    return this.#fatal !== undefined || this.#closing.signal.aborted
  }

  #count(key: keyof QueueTotals, by = 1): void {
    this.#totals = { ...this.#totals, [key]: this.#totals[key] + by }
  }
}
