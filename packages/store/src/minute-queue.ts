import {
  type Context,
  type EpochMinute,
  type EpochMs,
  isWorthALine,
  KimchiError,
  type Milliseconds,
} from '@kimchi/core'
import type { RedisConnection } from './redis/connect.ts'
import { isRetryable } from './redis/redis-error.ts'
import type { SampleBatch, SampleWriter, WriteResult } from './writer.ts'

/** 24 hours of minutes. */
const DEFAULT_CAPACITY = 1_440
const FIRST_RETRY_MS: Milliseconds = 200
/** A command fails at once while Redis is away, so it costs little to try often. */
const MAX_RETRY_MS: Milliseconds = 1_000

/** A primary that dies may lose what it had confirmed but not yet replicated: confirmed minutes are kept this long. */
const KEPT_AFTER_MS: Milliseconds = 600_000

export interface MinuteQueueOptions extends Pick<Context, 'clock' | 'random' | 'log'> {
  readonly writer: Pick<SampleWriter, 'write'>
  /** The writer's connection. */
  readonly redis: Pick<RedisConnection, 'onStatus'>
  /** Batches kept while Redis is away; when there are more, the oldest is dropped. @default 1440 */
  readonly capacity?: number
  /** Called when Redis confirmed a batch for the first time. */
  readonly onWritten?: (batch: SampleBatch, result: WriteResult) => void
  /**
   * Called once when writing can never succeed (`KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_LAYOUT`); the queue
   * stops.
   */
  readonly onFatal: (error: KimchiError) => void
}

/** What has become of a queue's batches: nothing yet. */
const NO_TOTALS = {
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

export interface QueueStatus {
  /** Batches not yet confirmed, or to be confirmed again. */
  readonly waiting: number
  /** Newest minute that Redis has confirmed. */
  readonly lastWrittenMinute: EpochMinute | undefined
  /** Why the last attempt failed; undefined while writing works. */
  readonly problem: string | undefined
  /** Symbols whose samples Redis refused because a key of theirs is damaged, until it accepts one again. */
  readonly damaged: readonly string[]
  readonly totals: Readonly<typeof NO_TOTALS>
}

interface Entry {
  readonly batch: SampleBatch
  /** When Redis first or last confirmed it. */
  confirmedAt: EpochMs | undefined
  /** To be written, for the first time or again. */
  isWaiting: boolean
}

/**
 * Minutes on their way to Redis, oldest first. A minute is kept until Redis has confirmed it, so a write that
 * timed out is repeated; and for 10 minutes more, so that it is sent again after every reconnect and when
 * another primary answers. Writing twice is harmless. Starts by itself with the first {@link enqueue}.
 */
export class MinuteQueue {
  readonly #options: MinuteQueueOptions
  readonly #stopListening: () => void
  /** Oldest first. */
  #entries: Entry[] = []
  /** The entry whose write is under way. */
  #current: Entry | undefined
  #primary: string | undefined
  #draining: Promise<void> | undefined
  /** Aborted by {@link close} and by a fatal error. */
  readonly #over = new AbortController()
  #lastWrittenMinute: EpochMinute | undefined
  #problem: string | undefined
  readonly #damaged = new Set<string>()
  readonly #totals = { ...NO_TOTALS }

  constructor(options: MinuteQueueOptions) {
    this.#options = options
    this.#stopListening = options.redis.onStatus(({ ready }) => {
      if (ready) this.#sendAgain('Redis is connected again')
    })
  }

  status(): QueueStatus {
    return {
      waiting: this.#waiting().length,
      lastWrittenMinute: this.#lastWrittenMinute,
      problem: this.#problem,
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
    if (this.#waiting().length >= (this.#options.capacity ?? DEFAULT_CAPACITY)) this.#dropOldest()
    this.#entries.push({ batch, confirmedAt: undefined, isWaiting: true })
    this.#draining ??= this.#drain()
  }

  /** Resolves when everything is written, or with false after `limitMs`. */
  async flush(limitMs: Milliseconds): Promise<boolean> {
    const limit = new AbortController()
    await Promise.race([this.#draining, this.#options.clock.wait(limitMs, limit.signal)])
    limit.abort()
    return this.#waiting().length === 0
  }

  /** Stops writing; what is left is lost. Call {@link flush} first. */
  close(): void {
    this.#stopListening()
    this.#over.abort()
  }

  #waiting(): readonly Entry[] {
    return this.#entries.filter(({ isWaiting }) => isWaiting)
  }

  /**
   * Call it only while an entry waits: otherwise it ends synchronously, and clears #draining before the caller
   * sets it.
   */
  async #drain(): Promise<void> {
    let failures = 0
    for (;;) {
      const entry = this.#waiting().at(0)
      if (entry === undefined || this.#over.signal.aborted) break
      this.#current = entry
      const outcome = await this.#options.writer.write(entry.batch).catch((error: Error) => error)
      this.#current = undefined
      if (!(outcome instanceof Error)) {
        this.#confirm(entry, outcome)
        failures = 0
      } else if (isRetryable(outcome)) {
        failures += 1
        this.#complain(outcome, failures)
        await this.#pause(failures)
      } else {
        this.#giveUp(entry, outcome)
      }
    }
    this.#draining = undefined
  }

  #confirm(entry: Entry, result: WriteResult): void {
    const { clock, log, onWritten } = this.#options
    const { batch } = entry
    const isFirst = entry.confirmedAt === undefined
    if (this.#primary !== undefined && this.#primary !== result.primary)
      this.#sendAgain('another primary answers')
    this.#primary = result.primary
    entry.isWaiting = false
    entry.confirmedAt = clock.now()
    this.#forgetOld()
    this.#lastWrittenMinute = Math.max(batch.minute, this.#lastWrittenMinute ?? batch.minute)
    for (const { symbol } of batch.samples) this.#damaged.delete(symbol)
    for (const { symbol, reason } of result.refused) if (reason === 'damaged') this.#damaged.add(symbol)
    if (isFirst) {
      this.#totals.stored += result.stored
      this.#totals.duplicates += result.duplicates
      this.#totals.refused += result.refused.length
    } else {
      this.#totals.resent += 1
      this.#totals.recovered += result.stored
    }
    if (this.#problem !== undefined) log.info({ waiting: this.#waiting().length }, 'writing works again')
    this.#problem = undefined
    if (isFirst) onWritten?.(batch, result)
  }

  /** Every confirmed batch waits again. */
  #sendAgain(reason: string): void {
    this.#forgetOld()
    const confirmed = this.#entries.filter(({ isWaiting }) => !isWaiting)
    if (confirmed.length === 0 || this.#over.signal.aborted) return
    this.#options.log.info({ minutes: confirmed.length, reason }, 'sending confirmed minutes again')
    for (const entry of confirmed) entry.isWaiting = true
    this.#draining ??= this.#drain()
  }

  /** Where the clock was set back, batches are kept for longer, which costs only memory. */
  #forgetOld(): void {
    const oldest = this.#options.clock.now() - KEPT_AFTER_MS
    this.#entries = this.#entries.filter(
      ({ isWaiting, confirmedAt = 0 }) => isWaiting || confirmedAt > oldest,
    )
  }

  /** Drops a batch that cannot be encoded; any other error means that writing can never succeed. */
  #giveUp(entry: Entry, error: Error): void {
    if (error instanceof KimchiError && error.code !== 'KIMCHI_ERR_CODEC') {
      this.#over.abort()
      this.#problem = error.message
      this.#options.onFatal(error)
      return
    }
    this.#forget(entry)
    this.#totals.rejected += 1
    this.#options.log.error({ minute: entry.batch.minute, err: error }, 'minute cannot be written')
  }

  /** @param failures in a row */
  #complain({ message: reason }: Error, failures: number): void {
    this.#totals.retries += 1
    this.#problem = reason
    const waiting = this.#waiting().length
    if (isWorthALine(failures))
      this.#options.log.warn({ waiting, failures, reason }, 'writing fails, minutes wait')
  }

  async #pause(failures: number): Promise<void> {
    const { clock, random } = this.#options
    const ceilingMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS)
    await clock.wait(Math.round(ceilingMs * (0.5 + random() / 2)), this.#over.signal)
  }

  /** Redis may have the batch whose write is under way already: that one stays. */
  #dropOldest(): void {
    const lost = this.#waiting().find(entry => entry !== this.#current)
    if (lost === undefined) return
    this.#forget(lost)
    if (lost.confirmedAt !== undefined) return
    this.#totals.dropped += 1
    const { minute } = lost.batch
    this.#options.log.error({ minute }, 'queue is full, the oldest minute is left to backfill')
  }

  #forget(lost: Entry): void {
    this.#entries = this.#entries.filter(entry => entry !== lost)
  }
}
