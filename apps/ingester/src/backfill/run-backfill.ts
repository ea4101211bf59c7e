import {
  type Coin,
  type Context,
  type EpochMinute,
  type EpochMs,
  KimchiError,
  type Milliseconds,
  messageOf,
  minuteOf,
  type Sample,
} from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import type { SampleReader, SampleWriter } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import { type BackfillLease, giveBack } from './backfill-lease.ts'
import { CANDLE_GRACE_MS, CandleBlocks } from './candle-blocks.ts'
import { type CandleRequestStatus, CandleRequests, type CandleRequestsOptions } from './candle-requests.ts'
import { type Decided, decideWindow, NOTHING, type Window } from './decide-minutes.ts'
import { type CoinTrouble, OpenWindows, type TurnedMinute, windowsOf } from './open-windows.ts'
import { type Drift, Reconciler } from './reconcile.ts'

/**
 * Leases are prolonged, or asked for, this often: a coin stays with one ingester for as long as that one
 * lives.
 */
const CLAIM_EVERY_MS: Milliseconds = 10_000

/** Backfill checks for new work at least this often. */
const IDLE_MS: Milliseconds = 1_000

/** Windows in work at once: enough to keep both exchanges busy while one is decided and stored. */
const WINDOWS_AT_ONCE = 8

/** Names of tasks that are no coin's; symbols are letters and digits. */
const FIRST_LIST = 'first list'
const RECONCILIATION = 'reconciliation'

/** What backfill works with. */
export interface BackfillOptions
  extends Pick<CandleRequestsOptions, 'fetchPage' | 'upbitPerSecond' | 'speed'> {
  /** The coins to fill; of those of a first start only the newest minute, by which they are compared. */
  readonly quarantine: Pick<Quarantine, 'tracked' | 'untested'>
  /** Which samples may be published; their coins' names are announced then. */
  readonly release: (samples: readonly Sample[]) => readonly Sample[]
  /** Whole UTC days before today that are kept without gaps that candles can fill. */
  readonly days: number
  readonly reader: Pick<SampleReader, 'readOpenMinutes' | 'readSamples'>
  readonly writer: Pick<SampleWriter, 'write' | 'verify'>
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: BackfillLease
}

/** What backfill says of itself. Counters run since the start. */
export interface BackfillStatus {
  /** Times that all that is kept was read for open minutes, and nothing was left to do. */
  readonly passes: number
  /** Open minutes that are known, one a coin and minute. */
  readonly open: number
  readonly stored: number
  readonly settled: number
  /** Samples that Redis refused for good. */
  readonly refused: number
  /** Coins whose candles could not be fetched; each waits alone. */
  readonly waiting: readonly CoinTrouble[]
  readonly candleRequests: readonly CandleRequestStatus[]
  readonly drift: Drift | undefined
  /** What holds up all of it. */
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
  readonly #windows: OpenWindows
  readonly #reconciler: Reconciler
  /** What is being done, by coin or by {@link FIRST_LIST} or {@link RECONCILIATION}. */
  readonly #underWay = new Map<string, { readonly minutes: number; readonly done: Promise<void> }>()
  readonly #counts = { passes: 0, stored: 0, settled: 0, refused: 0 }
  /** Coins whose newest minute was in a first list. */
  readonly #listed = new Set<string>()
  #listedAt: EpochMinute = 0
  #ours: ReadonlySet<string> = new Set()
  #claimedAt: EpochMs = Number.NEGATIVE_INFINITY
  #readsAtPass = 0
  #isVerified = false
  #problem: string | undefined
  /** What Redis, or everything, had against a task; thrown by the next step. */
  #trouble: { readonly thrown: unknown } | undefined
  #progress = { minutes: 0, percent: 0 }

  constructor(options: BackfillOptions, context: Context) {
    const { reader, days } = options
    const { clock } = context
    this.#options = options
    this.#context = context
    this.#requests = new CandleRequests(options, context)
    this.#blocks = new CandleBlocks((...page) => this.#requests.fetchPage(...page), clock)
    this.#windows = new OpenWindows({ reader, days, clock })
    this.#reconciler = new Reconciler({ reader, blocks: this.#blocks, clock })
  }

  /** Works until the signal aborts; whatever fails is tried again. */
  async run(): Promise<void> {
    const { clock, random, signal, log } = this.#context
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#step()
        failures = 0
        this.#problem = undefined
      } catch (thrown) {
        if (signal.aborted) break
        this.#problem = messageOf(thrown)
        this.#isVerified = false
        const delayMs = retryDelay(failures++, random, thrown)
        log.warn({ err: thrown, delayMs: Math.round(delayMs) }, 'backfill is held up, will go on')
        await clock.wait(delayMs, signal)
      }
    }
    await Promise.all(this.#tasks())
    await giveBack(this.#options.lease, this.#context)
  }

  /** Hears what the minute loop is done with, so that its gaps are filled at once. */
  learn(turned: TurnedMinute): void {
    this.#windows.learn(turned)
  }

  status(): BackfillStatus {
    return {
      ...this.#counts,
      open: this.#open,
      waiting: this.#windows.waiting,
      candleRequests: this.#requests.status(),
      drift: this.#reconciler.drift,
      problem: this.#problem,
    }
  }

  get #open(): number {
    return [...this.#underWay.values()].reduce((sum, { minutes }) => sum + minutes, this.#windows.open)
  }

  /** Starts what there is to do, and waits until something is done. */
  async #step(): Promise<void> {
    const { clock, signal } = this.#context
    const { tracked, untested } = await this.#claim()
    if (tracked.length + untested.length > 0) {
      if (!this.#isVerified) await this.#options.writer.verify()
      this.#isVerified = true
      this.#windows.follow(tracked)
      this.#startFirstList(tracked, untested)
      if (!this.#underWay.has(FIRST_LIST)) await this.#startWindows()
      if (this.#underWay.size === 0) this.#finishPass(tracked)
    }
    await Promise.race([...this.#tasks(), clock.wait(IDLE_MS, signal)])
    const trouble = this.#trouble
    this.#trouble = undefined
    if (trouble !== undefined) throw trouble.thrown
  }

  /** The coins that are ours to fill. */
  async #claim(): Promise<Record<'tracked' | 'untested', readonly Coin[]>> {
    const { quarantine, lease } = this.#options
    const { tracked, untested } = quarantine
    const now = this.#context.clock.now()
    if (now - this.#claimedAt >= CLAIM_EVERY_MS && tracked.length + untested.length > 0) {
      this.#ours = await lease.claim([...tracked, ...untested].map(({ symbol }) => symbol))
      this.#claimedAt = now
    }
    const isOurs = ({ symbol }: Coin) => this.#ours.has(symbol)
    return { tracked: tracked.filter(isOurs), untested: untested.filter(isOurs) }
  }

  /** New coins at once; those that are not tested yet every minute until they are. */
  #startFirstList(tracked: readonly Coin[], untested: readonly Coin[]): void {
    const minute = minuteOf(this.#context.clock.now() - CANDLE_GRACE_MS)
    const isNew = ({ symbol }: Coin) => !this.#listed.has(symbol)
    const coins = [
      ...tracked.filter(isNew),
      ...untested.filter(coin => isNew(coin) || minute > this.#listedAt),
    ]
    if (coins.length === 0 || this.#underWay.has(FIRST_LIST)) return
    this.#start(FIRST_LIST, coins.length, async () => {
      await this.#storeFirstList(coins)
      this.#listedAt = minute
      for (const { symbol } of coins) this.#listed.add(symbol)
    })
  }

  /** The newest minute of all coins, in one write; a coin whose candle is not there holds up nobody. */
  async #storeFirstList(coins: readonly Coin[]): Promise<void> {
    const minute = await this.#blocks.newest()
    const decided = await Promise.all(
      coins.map(async coin => {
        const open = await this.#options.reader.readOpenMinutes(coin.symbol, minute, minute + 1)
        const minutes = open.length > 0 ? [minute] : []
        // Why it could not be decided is said when its turn comes.
        return decideWindow({ coin, minutes }, this.#blocks).catch(() => NOTHING)
      }),
    )
    const samples = decided.flatMap(each => each.samples)
    await this.#store({ samples, settled: decided.flatMap(each => each.settled) })
  }

  async #startWindows(): Promise<void> {
    const isBusy = (symbol: string) => this.#underWay.has(symbol)
    await this.#windows.read(isBusy)
    while (this.#underWay.size < WINDOWS_AT_ONCE) {
      const window = this.#windows.next(isBusy)
      if (window === undefined) return
      this.#start(window.coin.symbol, window.minutes.length, () => this.#fill(window))
    }
  }

  /** @throws what Redis has against it */
  async #fill({ coin, minutes }: Window): Promise<void> {
    const { symbol } = coin
    let decided: Decided | undefined
    try {
      for (const window of windowsOf(minutes)) {
        decided = undefined
        decided = await decideWindow({ coin, minutes: window }, this.#blocks)
        await this.#store(decided)
      }
      this.#windows.succeed(symbol)
    } catch (thrown) {
      const { signal, log } = this.#context
      if (signal.aborted) return
      // A sample that can't be encoded is no trouble of Redis.
      const isCoins = thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_CODEC'
      if (decided !== undefined && !isCoins) throw thrown
      log.warn({ ...this.#windows.fail(symbol, thrown) }, 'a coin is not filled')
      return
    }
    this.#logProgress(symbol, minutes.length)
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

  #finishPass(tracked: readonly Coin[]): void {
    if (this.#windows.reads > this.#readsAtPass) this.#counts.passes += 1
    this.#readsAtPass = this.#windows.reads
    if (this.#reconciler.isDue) this.#start(RECONCILIATION, 0, () => this.#reconciler.run(tracked))
  }

  #start(key: string, minutes: number, work: () => Promise<void>): void {
    const done = work()
      .catch(thrown => {
        this.#trouble = { thrown }
      })
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, { minutes, done })
  }

  #tasks(): Promise<void>[] {
    return [...this.#underWay.values()].map(({ done }) => done)
  }

  /** Says how far the work is, each time by another whole percent; after 100 it begins again. */
  #logProgress(symbol: string, minutes: number): void {
    const { stored, settled } = this.#counts
    // These minutes are still under way.
    const open = this.#open - minutes
    const done = this.#progress.minutes + minutes
    const now = Math.floor((100 * done) / (done + open))
    // More may be found to do than was known: the percentage waits rather than goes back.
    const isNews = this.#progress.percent === 100 ? now < 100 : now > this.#progress.percent
    if (isNews) this.#context.log.info({ symbol, percent: now, stored, settled }, 'backfill')
    this.#progress = { minutes: open === 0 ? 0 : done, percent: isNews ? now : this.#progress.percent }
  }
}
