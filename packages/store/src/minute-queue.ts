import {
  type Context,
  type EpochMinute,
  type EpochMs,
  isWorthALine,
  KimchiError,
  type Milliseconds,
} from '@kimchi/core'
import { isRefusal, isRetryable } from './redis/redis-error.ts'
import type { SampleBatch, SampleWriter, WriteResult } from './writer.ts'

/** 24 hours of minutes; when there are more, the oldest is dropped. */
export const QUEUE_CAPACITY = 1_440

/** A command fails at once while Redis is away, so it costs little to try often. */
const WRITE_AGAIN_AFTER_MS: Milliseconds = 500

/** A primary that dies may lose what it had confirmed but not yet replicated: confirmed minutes are kept this long. */
const KEPT_AFTER_MS: Milliseconds = 600_000

export interface MinuteQueueOptions extends Pick<Context, 'clock' | 'random' | 'log'> {
  readonly writer: Pick<SampleWriter, 'write'>
  /**
   * Called once when writing can never succeed (`KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_LAYOUT`); the queue
   * stops.
   */
  readonly onFatal: (error: KimchiError) => void
}

/** How a queue is doing, for readiness, metrics and `kp_status`. */
export type QueueStatus = ReturnType<MinuteQueue['status']>

interface Entry {
  readonly batch: SampleBatch
  /** When Redis last confirmed it with something new; undefined before the first time, kept while it is sent again. */
  confirmedAt: EpochMs | undefined
}

/**
 * Minutes on their way to Redis, oldest first, and those that it confirmed in the last 10 minutes. A minute waits
 * until Redis has confirmed it, and again after a reconnect and when another primary answers: so a write that timed
 * out is repeated, and one that died with its primary as well. Writing twice is harmless. Starts by itself with
 * the first {@link enqueue}.
 */
export class MinuteQueue {
  readonly #options: MinuteQueueOptions
  /** Not yet confirmed, or to be confirmed again; oldest first. */
  #waiting = new Set<Entry>()
  #confirmed: Entry[] = []
  #primary: string | undefined
  #draining: Promise<void> | undefined
  /** Aborted by {@link close} and by a fatal error. */
  readonly #over = new AbortController()
  #lastWrittenMinute: EpochMinute | undefined
  #problem: Error | undefined
  readonly #damaged = new Set<string>()
  readonly #totals = {
    stored: 0,
    duplicates: 0,
    refused: 0,
    /** Batches lost because the queue was full. */
    dropped: 0,
    /** Batches lost because they could not be encoded. */
    rejected: 0,
    /** Failed attempts; each is repeated. */
    retries: 0,
    /** Confirmed batches that were sent again, because another primary may be in charge. */
    resent: 0,
    /** Samples that were stored only by sending them again. */
    recovered: 0,
  }

  constructor(options: MinuteQueueOptions) {
    this.#options = options
  }

  status() {
    return {
      /** Batches not yet confirmed, or to be confirmed again. */
      waiting: this.#waiting.size,
      /** Newest minute that Redis has confirmed. */
      lastWrittenMinute: this.#lastWrittenMinute,
      /** Why the last attempt failed; undefined while writing works. */
      problem: this.#problem?.message,
      /** Whether Redis was there, and refused. */
      isRefused: isRefusal(this.#problem),
      /** Symbols whose samples Redis refused because a key of theirs is damaged, until it accepts one again. */
      damaged: [...this.#damaged],
      totals: { ...this.#totals },
    }
  }

  /** Never throws and never waits. After a fatal error or {@link close}, batches are dropped. */
  enqueue(batch: SampleBatch): void {
    if (this.#over.signal.aborted) {
      this.#totals.dropped += 1
      return
    }
    if (this.#waiting.size >= QUEUE_CAPACITY) this.#dropOldest()
    this.#waiting.add({ batch, confirmedAt: undefined })
    this.#draining ??= this.#drain()
  }

  /** Has every confirmed batch wait again. Call it when the writer's connection is back. @param reason for the log */
  sendAgain(reason: string): void {
    this.#forgetOld()
    const minutes = this.#confirmed.length
    if (minutes === 0 || this.#over.signal.aborted) return
    this.#options.log.info({ minutes, reason }, 'sending confirmed minutes again')
    this.#waiting = new Set([...this.#confirmed, ...this.#waiting])
    this.#confirmed = []
    this.#draining ??= this.#drain()
  }

  /** Resolves when everything is written, or with false after `limitMs`. */
  async flush(limitMs: Milliseconds): Promise<boolean> {
    const limit = new AbortController()
    await Promise.race([this.#draining, this.#options.clock.wait(limitMs, limit.signal)])
    limit.abort()
    return this.#waiting.size === 0
  }

  /** Writes what waits, for `limitMs` at most, and then nothing more; resolves with false when something was lost. */
  async close(limitMs: Milliseconds): Promise<boolean> {
    const isWritten = await this.flush(limitMs)
    this.#over.abort()
    return isWritten
  }

  /**
   * Call it only while an entry waits: otherwise it ends synchronously, and clears #draining before the caller
   * sets it.
   */
  async #drain(): Promise<void> {
    const { writer, clock, random } = this.#options
    let failures = 0
    for (;;) {
      const [entry] = this.#waiting
      if (entry === undefined || this.#over.signal.aborted) break
      const outcome = await writer.write(entry.batch).catch((error: Error) => error)
      if (!(outcome instanceof Error)) {
        this.#confirm(entry, outcome)
        failures = 0
      } else if (isRetryable(outcome)) {
        failures += 1
        this.#complain(outcome, failures)
        await clock.wait(Math.round(WRITE_AGAIN_AFTER_MS * (0.5 + random() / 2)), this.#over.signal)
      } else {
        this.#giveUp(entry, outcome)
      }
    }
    this.#draining = undefined
  }

  #confirm(entry: Entry, result: WriteResult): void {
    const { clock, log } = this.#options
    const { batch } = entry
    if (this.#primary !== undefined && this.#primary !== result.primary) {
      this.sendAgain('another primary answers')
    }
    this.#primary = result.primary
    if (entry.confirmedAt === undefined) {
      this.#totals.stored += result.stored
      this.#totals.duplicates += result.duplicates
      this.#totals.refused += result.refused.length
    } else {
      this.#totals.resent += 1
      this.#totals.recovered += result.stored
    }
    // Redis had all of it already: being sent again put nothing new at risk.
    if (entry.confirmedAt === undefined || result.stored + result.settled > 0) entry.confirmedAt = clock.now()
    this.#waiting.delete(entry)
    this.#confirmed.push(entry)
    this.#forgetOld()
    this.#lastWrittenMinute = Math.max(batch.minute, this.#lastWrittenMinute ?? batch.minute)
    for (const { symbol } of batch.samples) this.#damaged.delete(symbol)
    for (const { symbol, reason } of result.refused) if (reason === 'damaged') this.#damaged.add(symbol)
    if (this.#problem !== undefined) log.info({ waiting: this.#waiting.size }, 'writing works again')
    this.#problem = undefined
  }

  /** Where the clock was set back, batches are kept for longer, which costs only memory. */
  #forgetOld(): void {
    const oldest = this.#options.clock.now() - KEPT_AFTER_MS
    this.#confirmed = this.#confirmed.filter(({ confirmedAt = 0 }) => confirmedAt > oldest)
  }

  /** Drops a batch that cannot be encoded; any other error means that writing can never succeed. */
  #giveUp(entry: Entry, error: Error): void {
    if (error instanceof KimchiError && error.code !== 'KIMCHI_ERR_CODEC') {
      this.#over.abort()
      this.#problem = error
      this.#options.onFatal(error)
      return
    }
    this.#waiting.delete(entry)
    this.#totals.rejected += 1
    this.#options.log.error({ minute: entry.batch.minute, err: error }, 'minute cannot be written')
  }

  /** @param failures in a row */
  #complain(error: Error, failures: number): void {
    this.#totals.retries += 1
    this.#problem = error
    const fields = { waiting: this.#waiting.size, failures, reason: error.message }
    if (isWorthALine(failures)) this.#options.log.warn(fields, 'writing fails, minutes wait')
  }

  /** Drops the second, because the first is being written: Redis may have it already. */
  #dropOldest(): void {
    const [, lost] = this.#waiting
    if (lost === undefined) return
    this.#waiting.delete(lost)
    if (lost.confirmedAt !== undefined) return
    this.#totals.dropped += 1
    const { minute } = lost.batch
    this.#options.log.error({ minute }, 'queue is full, the oldest minute is left to backfill')
  }
}
