import {
  type Coin,
  type Context,
  type EpochMinute,
  HOUR_MS,
  isWorthALine,
  type Milliseconds,
  messageOf,
  type Sample,
} from '@kimchi/core'
import { type RestClient, retryDelay } from '@kimchi/feeds'
import type { Lease, SampleReader, SampleWriter, SettledMinute } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import { BackfillLease } from './backfill-lease.ts'
import { CandleBlockCache } from './candle-block-cache.ts'
import { CandleRequests } from './candle-requests.ts'
import { COINS_AT_ONCE, type CoinMinutes, type Decided, decideWindow } from './decide-minutes.ts'
import { type Drift, measureDrift } from './measure-drift.ts'
import { type FinishedMinute, OpenMinutes } from './open-minutes.ts'

/** Backfill looks again for open minutes after this long while there are none. */
const IDLE_MS: Milliseconds = 1_000

/** A history of so many minutes takes long enough for people to ask how far it is. */
const LONG_HISTORY = 1_000

export interface BackfillOptions {
  /**
   * The coins to fill. Of untested coins backfill decides only the newest minute, by which the quarantine
   * compares them with the market.
   */
  readonly quarantine: Pick<Quarantine, 'tracked' | 'untested'>
  /** Picks the samples that may be stored, and tells Redis of coins that they release from quarantine. */
  readonly release: (samples: readonly Sample[]) => readonly Sample[]
  /** Whole UTC days before today that are filled. */
  readonly days: number
  readonly rest: Pick<RestClient, 'fetchCandles'>
  readonly upbitPerSecond: number
  readonly reader: Pick<SampleReader, 'readOpenMinutes' | 'readSamples'>
  readonly writer: Pick<SampleWriter, 'write'>
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: Pick<Lease, 'claim' | 'free'>
}

/** Counters run since the start. */
export type BackfillStatus = ReturnType<Backfill['status']>

/**
 * Decides the open minutes since 00:00 UTC of today − `days` from candles, for as long as an ingester lives:
 * open minutes (Redis) → window → candle blocks → decide → one write (samples and settled minutes) → Redis.
 * @see docs/architecture.md#ingester
 */
export class Backfill {
  readonly #options: BackfillOptions
  readonly #context: Context
  readonly #requests: CandleRequests
  readonly #blocks: CandleBlockCache
  readonly #openMinutes: OpenMinutes
  readonly #lease: BackfillLease
  readonly #counts = { stored: 0, settled: 0, refused: 0 }
  #problem: string | undefined
  /** The minute of which untested coins were sampled last. */
  #sampledAt: EpochMinute | undefined
  #percent = 0
  #drift: Drift | undefined
  /** The hour, since the epoch, in which the drift was measured last. */
  #driftHour = 0

  constructor(options: BackfillOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.#requests = new CandleRequests(options.rest, options.upbitPerSecond, context)
    this.#blocks = new CandleBlockCache(request => this.#requests.fetchPage(request), context.clock)
    this.#openMinutes = new OpenMinutes(options.reader, options.days, context.clock)
    this.#lease = new BackfillLease(options.lease, this.#blocks, context)
  }

  /** Works until the signal aborts; whatever fails is tried again. */
  async run(): Promise<void> {
    const { clock, random, signal, log } = this.#context
    for (let failures = 0; !signal.aborted; ) {
      try {
        const isDone = await this.#round()
        failures = 0
        this.#problem = undefined
        if (isDone) await clock.wait(IDLE_MS, signal)
      } catch (thrown) {
        if (signal.aborted) break
        this.#problem = messageOf(thrown)
        // Without the cause: the requests keep to an exchange's `Retry-After`, and nothing else has to wait for it.
        const delayMs = retryDelay(failures++, random)
        const fields = { err: thrown, failures, delayMs: Math.round(delayMs) }
        if (isWorthALine(failures)) log.warn(fields, 'backfill failed and will try again')
        await clock.wait(delayMs, signal)
      }
    }
    await this.#lease.free()
  }

  /** Hears which minute the minute loop has finished, so that its gaps are filled at once. */
  noteMinute(finished: FinishedMinute): void {
    this.#lease.isClockWrong = finished.isClockWrong ?? false
    this.#openMinutes.noteMinute(finished)
  }

  status() {
    return {
      /** `refused` counts samples that Redis will not accept later either. */
      ...this.#counts,
      /** Coins that this ingester fills; 0 while it has no lease, undefined where backfill does not run. */
      filling: this.#lease.filling,
      /** Known open minutes, counted per coin and minute. */
      open: this.#openMinutes.count,
      /** Coins whose candles could not be fetched; each waits alone. */
      waiting: this.#openMinutes.waiting,
      candleRequests: this.#requests.status(),
      drift: this.#drift,
      /** Why all coins wait, such as Redis being away; undefined while they need not. */
      problem: this.#problem,
    }
  }

  /**
   * Fills the next coins if this ingester has the lease, and measures the drift when no coin is left to fill.
   * @returns whether nothing was left to fill
   */
  async #round(): Promise<boolean> {
    const isHeld = await this.#claim()
    const { tracked } = this.#options.quarantine
    this.#openMinutes.follow(isHeld ? tracked : [])
    if (!isHeld || !(await this.#sampleUntested())) return true
    await this.#openMinutes.read(() => this.#claim())
    const due = this.#openMinutes.next(COINS_AT_ONCE)
    const filled = await Promise.allSettled(due.map(window => this.#fill(window)))
    for (const each of filled) if (each.status === 'rejected') throw each.reason
    if (due.length === 0) await this.#measureDrift(tracked)
    return due.length === 0
  }

  #claim(): Promise<boolean> {
    const { tracked, untested } = this.#options.quarantine
    return this.#lease.claim([...tracked, ...untested])
  }

  /**
   * Decides the newest minute of all untested coins, which the quarantine compares with each other.
   * @returns whether this ingester still has the lease; one that has lost it leaves the rest to another
   */
  async #sampleUntested(): Promise<boolean> {
    const { untested } = this.#options.quarantine
    const minute = await this.#blocks.newestMinute()
    if (untested.length === 0 || minute === this.#sampledAt) return true
    const samples: Sample[] = []
    for (let at = 0; at < untested.length; at += COINS_AT_ONCE) {
      const some = untested.slice(at, at + COINS_AT_ONCE)
      const decided = await Promise.all(some.map(coin => this.#decide({ coin, minutes: [minute] })))
      samples.push(...decided.flatMap(each => each?.samples ?? []))
      if (!(await this.#claim())) return false
    }
    await this.#store(samples, [])
    this.#sampledAt = minute
    return true
  }

  async #measureDrift(tracked: readonly Coin[]): Promise<void> {
    const now = this.#context.clock.now()
    const hour = Math.floor(now / HOUR_MS)
    if (hour === this.#driftHour) return
    this.#driftHour = hour
    this.#drift = await measureDrift(tracked, now, this.#options.reader, this.#blocks)
  }

  /** @throws why Redis could not be written */
  async #fill(window: CoinMinutes): Promise<void> {
    const decided = await this.#decide(window)
    if (decided === undefined) return
    await this.#store(decided.samples, decided.settled)
    this.#openMinutes.finish(window)
    this.#logProgress(window.coin)
    // At a slow pace a round takes longer than the lease lasts.
    await this.#claim()
  }

  /** Undefined where candles cannot be fetched: the coin waits. */
  async #decide(window: CoinMinutes): Promise<Decided | undefined> {
    try {
      return await decideWindow(window, this.#blocks)
    } catch (thrown) {
      if (this.#context.signal.aborted) return undefined
      const trouble = this.#openMinutes.fail(window.coin, thrown)
      if (trouble !== undefined && isWorthALine(trouble.failures))
        this.#context.log.warn({ ...trouble }, 'the candles of a coin cannot be fetched, it waits')
      return undefined
    }
  }

  async #store(samples: readonly Sample[], settled: readonly SettledMinute[]): Promise<void> {
    const { release, quarantine, writer } = this.#options
    const publishable = release(samples)
    const tracked = new Set(quarantine.tracked.map(({ symbol }) => symbol))
    const gaps = settled.filter(({ symbol }) => tracked.has(symbol))
    const minute = Math.max(publishable.at(-1)?.minute ?? 0, gaps.at(-1)?.minute ?? 0)
    if (minute === 0) return
    const result = await writer.write({ minute, samples: publishable, settled: gaps })
    this.#counts.stored += result.stored + result.duplicates
    this.#counts.settled += result.settled
    this.#counts.refused += result.refused.length
  }

  /** Logs how far a long history is, at each further percent. */
  #logProgress({ symbol }: Coin): void {
    const { stored, settled } = this.#counts
    const [done, open] = [stored + settled, this.#openMinutes.count]
    const percent = Math.floor((100 * done) / Math.max(1, done + open))
    if (percent <= this.#percent || done + open < LONG_HISTORY) return
    this.#context.log.info({ symbol, percent, stored, settled }, 'backfill')
    this.#percent = percent
  }
}
