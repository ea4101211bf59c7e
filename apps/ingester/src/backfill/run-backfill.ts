import {
  type Coin,
  type Context,
  type Gap,
  HOUR_MS,
  isWorthALine,
  type Milliseconds,
  messageOf,
  type Sample,
} from '@kimchi/core'
import { type RestClient, Retry } from '@kimchi/feeds'
import type { SampleReader, SampleWriter } from '@kimchi/store'
import type { MinuteReport } from '../minute/minute-loop.ts'
import { CandleBlockCache } from './candle-block-cache.ts'
import { type Decided, decideWindow } from './decide-minutes.ts'
import { type Drift, measureDrift } from './measure-drift.ts'
import { OpenMinutes, type OpenWindow } from './open-minutes.ts'

/**
 * Coins that are decided at once. Enough to keep both exchanges busy, few enough that shared requests (BTC, the
 * rate) don't queue for long.
 */
export const COINS_AT_ONCE = 16

/** Backfill rests for this long where nothing is left to do. */
const IDLE_MS: Milliseconds = 1_000

export interface BackfillOptions {
  /** Whole UTC days before today that are filled; today is filled too. */
  readonly days: number
  readonly rest: Pick<RestClient, 'fetchCandles'>
  /** REST requests a second to Upbit: as many coins a second are begun. */
  readonly upbitPerSecond: number
  readonly reader: Pick<SampleReader, 'readOpenMinutes' | 'readSamples'>
  readonly writer: Pick<SampleWriter, 'write'>
  /** Called with samples that Redis has now. */
  readonly onStored?: (samples: readonly Sample[]) => void
}

/** What the minute loop reports of a minute. */
export interface FinishedMinute extends Pick<MinuteReport, 'minute'> {
  readonly gaps: readonly Pick<Gap, 'reason'>[]
}

/** Counters start at 0 with the process. */
export type BackfillStatus = ReturnType<Backfill['status']>

/**
 * Decides the open minutes since 00:00 UTC of today − `days` from candles, for as long as an ingester lives:
 * open minutes (Redis) → window → candle blocks → decide → one write (samples and settled minutes) → Redis.
 *
 * The open minutes in Redis are the list of work, which nobody holds: of several ingesters each takes the coins in
 * an order of its own, and what two of them decide at once is stored once.
 * @see docs/architecture.md#ingester
 */
export class Backfill {
  readonly #options: BackfillOptions
  readonly #context: Context
  readonly #blocks: CandleBlockCache
  readonly #openMinutes: OpenMinutes
  readonly #counts = { stored: 0, settled: 0, refused: 0 }
  #tracked: readonly Coin[] = []
  /** Why the last round failed; undefined if it did not. */
  #problem: string | undefined
  /** Whether the exchanges' frames show that our clock is wrong. */
  #isClockWrong = false
  #drift: Drift | undefined
  /** The hour, since the epoch, in which the drift was measured last. */
  #driftHour = 0

  constructor(options: BackfillOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.#blocks = new CandleBlockCache(options.rest, context)
    this.#openMinutes = new OpenMinutes(options.reader, options.days, context)
  }

  /** Works until the signal aborts; whatever fails is tried again. */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    const retry = new Retry(this.#context)
    while (!signal.aborted) {
      try {
        const isBusy = await this.#round()
        retry.reset()
        this.#problem = undefined
        if (!isBusy) await clock.wait(IDLE_MS, signal)
      } catch (thrown) {
        this.#problem = messageOf(thrown)
        await retry.wait(thrown, 'backfill failed and will try again')
      }
    }
  }

  /** Replaces the coins to fill. */
  follow(tracked: readonly Coin[]): void {
    this.#tracked = tracked
    this.#openMinutes.follow(tracked)
  }

  /** Hears which minute the minute loop has finished, so that its gaps are filled at once. */
  noteMinute({ minute, gaps }: FinishedMinute): void {
    this.#isClockWrong = gaps.some(({ reason }) => reason === 'clock-skew')
    this.#openMinutes.noteMinute(minute)
  }

  /** Has Redis name all open minutes again: a primary that answers now may have lost what another one had stored. */
  readAgain(): void {
    this.#openMinutes.readAgain()
  }

  status() {
    return {
      /** `refused` counts samples that Redis will not accept later either. */
      ...this.#counts,
      /** Known open minutes, counted per coin and minute. */
      open: this.#openMinutes.count,
      /** Coins whose candles could not be fetched; each waits alone. */
      troubled: this.#openMinutes.troubled,
      unreadable: this.#blocks.unreadable(),
      drift: this.#drift,
      /** Why all coins wait, such as Redis being away; undefined while they need not. */
      problem: this.#problem,
    }
  }

  /**
   * Fills the next coins, and measures the drift when none is left to fill. An ingester whose clock is wrong leaves the
   * work to others.
   * @returns whether there was something to fill
   */
  async #round(): Promise<boolean> {
    if (this.#isClockWrong) return false
    const { clock, signal } = this.#context
    const fills: Promise<void>[] = []
    try {
      for await (const window of this.#openMinutes.due(COINS_AT_ONCE)) {
        const fill = this.#fill(window)
        fill.catch(() => {})
        fills.push(fill)
        // A window begun sooner would wait at the door, where nobody notices that another ingester decides it.
        const pace = clock.wait(1_000 / this.#options.upbitPerSecond, signal)
        await Promise.all([pace, this.#blocks.fetchLimit()])
      }
    } finally {
      await Promise.allSettled(fills)
    }
    await Promise.all(fills)
    if (fills.length === 0 && this.#tracked.length > 0) await this.#measureDrift()
    return fills.length > 0
  }

  async #measureDrift(): Promise<void> {
    const now = this.#context.clock.now()
    const hour = Math.floor(now / HOUR_MS)
    if (hour === this.#driftHour) return
    this.#driftHour = hour
    this.#drift = await measureDrift(this.#tracked, now, this.#options.reader, this.#blocks)
  }

  /** @throws why Redis could not be read or written */
  async #fill(window: OpenWindow): Promise<void> {
    const decided = await this.#decide(window)
    if (decided === undefined) return
    const { writer, onStored = () => {} } = this.#options
    const { samples, settled } = decided
    const newest = Math.max(samples.at(-1)?.minute ?? 0, settled.at(-1)?.minute ?? 0)
    if (newest > 0 && window.of.isTracked) {
      const result = await writer.write({ minute: newest, samples, settled })
      this.#counts.stored += result.stored + result.duplicates
      this.#counts.settled += result.settled
      this.#counts.refused += result.refused.length
      if (result.refused.length === 0) onStored(samples)
    }
    this.#openMinutes.finish(window)
  }

  /** Undefined where candles cannot be fetched: the coin waits. */
  async #decide(window: OpenWindow): Promise<Decided | undefined> {
    const { clock, signal, log } = this.#context
    try {
      return await decideWindow(window, this.#blocks)
    } catch (thrown) {
      if (signal.aborted) return undefined
      // A failure that every coin would meet is not held against this one.
      await this.#blocks.fetchLimit()
      const { waitsUntil, ...fields } = this.#openMinutes.fail(window, thrown)
      const delayMs = waitsUntil - clock.elapsed()
      if (isWorthALine(fields.failures))
        log.warn({ ...fields, delayMs }, 'a coin waits: its candles cannot be fetched')
      return undefined
    }
  }
}
