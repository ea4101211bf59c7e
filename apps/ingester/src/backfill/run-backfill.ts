import {
  type Coin,
  type Context,
  type EpochMinute,
  HOUR_MS,
  isWorthALine,
  type Milliseconds,
  messageOf,
  minuteOf,
  type Sample,
} from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import type { SampleReader, SampleWriter } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import type { BackfillLease } from './backfill-lease.ts'
import { CANDLE_GRACE_MS, CandleBlocks } from './candle-blocks.ts'
import { type CandleRequestStatus, CandleRequests, type CandleRequestsOptions } from './candle-requests.ts'
import { type CoinMinutes, type Decided, decideWindow } from './decide-minutes.ts'
import { ExchangeHealth } from './exchange-health.ts'
import { COINS_AT_ONCE, decideFirstList } from './first-list.ts'
import { type Drift, measureDrift } from './measure-drift.ts'
import { type CoinTrouble, type FinishedMinute, OpenMinutes } from './open-minutes.ts'

/** The lease is claimed again, and while nothing is open backfill looks again, after this long. */
const IDLE_MS: Milliseconds = 1_000

/** A first list waits for this much longer than its requests need by their pace. */
const PATIENCE_MS: Milliseconds = 5_000

/** A history of so many minutes takes long enough for people to ask how far it is. */
const LONG_HISTORY = 1_000

export interface BackfillOptions extends CandleRequestsOptions {
  /**
   * The coins to fill. Of those untested at a first start only the newest minute is fetched, to compare them with
   * the market.
   */
  readonly quarantine: Pick<Quarantine, 'tracked' | 'untested'>
  /** Which samples may be published; their coins' names are announced then. */
  readonly release: (samples: readonly Sample[]) => readonly Sample[]
  /** Whole UTC days before today that are filled. */
  readonly days: number
  readonly reader: Pick<SampleReader, 'readOpenMinutes' | 'readSamples'>
  readonly writer: Pick<SampleWriter, 'write'>
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: Pick<BackfillLease, 'hold' | 'close'>
}

/** The status of backfill. Counters run since the start. */
export interface BackfillStatus {
  /** Coins that this ingester fills; 0 while it has no lease, undefined where backfill does not run. */
  readonly filling: number | undefined
  /** Known open minutes, counted per coin and minute. */
  readonly open: number
  readonly stored: number
  readonly settled: number
  /** Samples that Redis refused and will not accept later. */
  readonly refused: number
  /** Coins whose candles could not be fetched; each waits alone. */
  readonly waiting: readonly CoinTrouble[]
  readonly candleRequests: readonly CandleRequestStatus[]
  readonly drift: Drift | undefined
  /** What holds up all coins. */
  readonly problem: string | undefined
}

/**
 * Decides the open minutes since 00:00 UTC of today − `days` from candles, for as long as an ingester lives:
 * open minutes (Redis) → window → candle blocks → decide → one write (samples and settled minutes) → Redis.
 * @see docs/architecture.md#ingester
 */
export class Backfill {
  readonly #options: BackfillOptions
  readonly #context: Context
  readonly #requests: CandleRequests
  readonly #blocks: CandleBlocks
  readonly #openMinutes: OpenMinutes
  readonly #health: ExchangeHealth
  /** Started with the first coins: loading ccxt earlier would hold up the streams. */
  #watching: Promise<void> | undefined
  /** The minute in which a coin was listed last. */
  readonly #listedAt = new Map<string, EpochMinute>()
  readonly #counts = { stored: 0, settled: 0, refused: 0 }
  #isClockWrong = false
  /** Coins that it has the lease on. */
  #filling: number | undefined
  /** Why the lease could not be claimed the last time. */
  #leaseFailure: unknown
  #problem: string | undefined
  #percent = 0
  #drift: Drift | undefined
  /** The hour, since the epoch, in which the drift was measured last. */
  #driftHour = 0

  constructor(options: BackfillOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.#requests = new CandleRequests(options, context)
    this.#blocks = new CandleBlocks(request => this.#requests.fetchPage(request), context.clock)
    this.#openMinutes = new OpenMinutes(options.reader, options.days, context.clock)
    this.#health = new ExchangeHealth(this.#blocks, context)
  }

  /** Works until the signal aborts; whatever fails is tried again. */
  async run(): Promise<void> {
    const { clock, random, signal, log } = this.#context
    const holding = this.#holdLease()
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#round()
        failures = 0
        this.#problem = undefined
      } catch (thrown) {
        if (signal.aborted) break
        this.#problem = messageOf(thrown)
        const delayMs = retryDelay(failures++, random, thrown)
        const fields = { err: thrown, failures, delayMs: Math.round(delayMs) }
        if (isWorthALine(failures)) log.warn(fields, 'backfill failed and will try again')
        await clock.wait(delayMs, signal)
      }
    }
    await Promise.all([this.#watching, holding])
    await this.#options.lease.close()
  }

  /** Hears which minute the minute loop has finished, so that its gaps are filled at once. */
  noteMinute(finished: FinishedMinute): void {
    this.#isClockWrong = finished.isClockWrong ?? false
    this.#openMinutes.noteMinute(finished)
  }

  status(): BackfillStatus {
    return {
      ...this.#counts,
      filling: this.#filling,
      open: this.#openMinutes.count,
      waiting: this.#openMinutes.waiting,
      candleRequests: this.#requests.status(),
      drift: this.#drift,
      problem: this.#problem,
    }
  }

  /** Claims the lease beside the work, which may take longer than the lease lasts. */
  async #holdLease(): Promise<void> {
    const { lease, quarantine } = this.#options
    const { clock, signal } = this.#context
    while (!signal.aborted) {
      const coins = [...quarantine.tracked, ...quarantine.untested]
      // Every ingester fetches the newest candles, whoever fills the gaps.
      if (coins.length > 0) this.#watching ??= this.#health.run()
      const isFit = coins.length > 0 && this.#health.isWell && !this.#isClockWrong
      try {
        const isHolder = await lease.hold(coins, isFit)
        this.#filling = isHolder ? coins.length : 0
        this.#leaseFailure = undefined
      } catch (thrown) {
        this.#filling = 0
        this.#leaseFailure = thrown
      }
      await clock.wait(IDLE_MS, signal)
    }
  }

  get #isHolder(): boolean {
    return (this.#filling ?? 0) > 0
  }

  /** Fills the coins that come first; where none is due, waits a little. */
  async #round(): Promise<void> {
    const { tracked, untested } = this.#options.quarantine
    this.#openMinutes.follow(this.#isHolder ? tracked : [])
    const failure = this.#leaseFailure ?? (this.#health.isWell ? undefined : this.#health.failure)
    if (failure !== undefined) throw failure
    const isDone = this.#isHolder ? await this.#work(tracked, untested) : true
    if (isDone) await this.#context.clock.wait(IDLE_MS, this.#context.signal)
  }

  /** The newest minute of new coins comes before the coins one by one, and the drift when nothing is left. */
  async #work(tracked: readonly Coin[], untested: readonly Coin[]): Promise<boolean> {
    await this.#listNew(tracked, untested)
    await this.#openMinutes.read()
    const due = this.#openMinutes.next(COINS_AT_ONCE)
    const filled = await Promise.allSettled(due.map(window => this.#fill(window)))
    for (const each of filled) if (each.status === 'rejected') throw each.reason
    if (due.length === 0) await this.#measureDrift(tracked)
    return due.length === 0
  }

  /** Lists new coins at once, and those that are not tested yet every minute until they are. */
  async #listNew(tracked: readonly Coin[], untested: readonly Coin[]): Promise<void> {
    const { reader, upbitPerSecond } = this.#options
    const minute = minuteOf(this.#context.clock.now() - CANDLE_GRACE_MS)
    const due = [
      ...tracked.filter(({ symbol }) => !this.#listedAt.has(symbol)),
      ...untested.filter(({ symbol }) => this.#listedAt.get(symbol) !== minute),
    ]
    if (due.length === 0) return
    const patienceMs = (due.length * 1_000) / upbitPerSecond + PATIENCE_MS
    const goesOn = () => this.#isHolder
    await this.#store(await decideFirstList(due, patienceMs, goesOn, reader, this.#blocks, this.#context))
    if (!goesOn()) return
    for (const { symbol } of due) this.#listedAt.set(symbol, minute)
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
    const { coin } = window
    const decided = await decideWindow(window, this.#blocks).catch(thrown => this.#fail(coin, thrown))
    if (decided === undefined) return
    await this.#store(decided)
    this.#openMinutes.finish(window, decided.open)
    this.#logProgress(coin)
  }

  #fail(coin: Coin, thrown: unknown): void {
    if (this.#context.signal.aborted) return
    const trouble = this.#openMinutes.fail(coin, thrown)
    if (trouble !== undefined && isWorthALine(trouble.failures))
      this.#context.log.warn({ ...trouble }, 'the candles of a coin cannot be fetched, it waits')
  }

  async #store({ samples, settled }: Decided): Promise<void> {
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

  /** Logs how far a long history is, whenever it has come another percent further. */
  #logProgress({ symbol }: Coin): void {
    const { stored, settled } = this.#counts
    const [done, open] = [stored + settled, this.#openMinutes.count]
    const percent = Math.floor((100 * done) / Math.max(1, done + open))
    if (percent <= this.#percent || done + open < LONG_HISTORY) return
    this.#context.log.info({ symbol, percent, stored, settled }, 'backfill')
    this.#percent = percent
  }
}
