import {
  type Clock,
  type Coin,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  type EpochMs,
  type Milliseconds,
  minuteOf,
} from '@kimchi/core'
import type { SampleReader } from '@kimchi/store'
import type { FetchPage } from './candle-book.ts'
import { type CoinWork, compareWork, createCoinWork } from './coin-work.ts'
import { CANDLE_GRACE_MS, findNewestMinute } from './newest-minute.ts'

/** How often Redis is asked for holes: in all that is kept, and in the last minutes. */
const LOOK_EVERY_MS: Milliseconds = 300_000
const LOOK_AT_RECENT_EVERY_MS: Milliseconds = 60_000
const RECENT_MINUTES = 15

/** A minute that this ingester does not know to be a gap is left to the feeds for this long. */
const LEFT_TO_FEEDS_MS: Milliseconds = 180_000

/** Holes that are no older than this come before all others. */
const URGENT_MINUTES = 10

/** More than the minute loop names in the time in which they matter. */
const MAX_KNOWN = 50

/** What the minute loop tells backfill about a minute. */
export interface KnownMinute {
  readonly minute: EpochMinute
  /** Coins that have no sample of it, for a reason that candles may mend. */
  readonly missing: readonly string[]
}

/** Where holes are looked for. */
export interface HoleFinderOptions {
  readonly reader: Pick<SampleReader, 'readOpenMinutes'>
  readonly fetchPage: FetchPage
  /** Whole UTC days before today that are kept without holes. */
  readonly days: number
  readonly clock: Clock
}

/** Knows every coin's holes, and which are to be filled next. */
export interface HoleFinder {
  readonly works: ReadonlyMap<string, CoinWork>
  /** How often a coin's whole past was looked at. */
  readonly looks: number
  /** Takes in what became of a minute, so that its holes are filled at once. */
  learn(known: KnownMinute): void
  /**
   * Works for these coins from now on, and forgets all others.
   * @param untested of them only the newest minute is wanted
   */
  follow(coins: readonly Coin[], untested: readonly Coin[]): void
  /** Looks for holes where it is time to. @param isBusy coins that are being filled are left alone */
  look(isBusy: (work: CoinWork) => boolean): Promise<void>
  /** What to fill next; undefined when there is nothing to do now. */
  next(isBusy: (work: CoinWork) => boolean): { work: CoinWork; minutes: readonly EpochMinute[] } | undefined
}

/**
 * A {@link HoleFinder} that has not looked yet. Minutes from before now are known not to have been sampled by
 * us.
 */
export function createHoleFinder(options: HoleFinderOptions): HoleFinder {
  return new PatientFinder(options)
}

class PatientFinder implements HoleFinder {
  readonly #options: HoleFinderOptions
  readonly #works = new Map<string, CoinWork>()
  readonly #untested = new Set<CoinWork>()
  readonly #lookedAt = new Map<CoinWork, EpochMs>()
  readonly #startMinute: EpochMinute
  #known: KnownMinute[] = []
  #looks = 0
  /** The minute by which untested coins are compared, one for all of them. */
  #firstMinute: EpochMinute | undefined
  #lookedAtRecentAt: EpochMs = Number.NEGATIVE_INFINITY
  /** The newest minute whose candles are known to be complete. */
  #newest: EpochMinute = 0

  constructor(options: HoleFinderOptions) {
    this.#options = options
    this.#startMinute = this.#ripe(CANDLE_GRACE_MS)
  }

  get works(): ReadonlyMap<string, CoinWork> {
    return this.#works
  }

  get looks(): number {
    return this.#looks
  }

  learn(known: KnownMinute): void {
    // While another ingester holds the lease they only pass by; what is older is found by looking.
    this.#known = [...this.#known, known].slice(-MAX_KNOWN)
  }

  follow(coins: readonly Coin[], untested: readonly Coin[]): void {
    const wanted = new Map([...coins, ...untested].map(coin => [coin.symbol, coin]))
    for (const [symbol, work] of this.#works) {
      const coin = wanted.get(symbol)
      const isSame = coin?.upbit === work.coin.upbit && coin?.binance === work.coin.binance
      if (!isSame) this.#forget(work)
    }
    for (const coin of wanted.values()) {
      if (!this.#works.has(coin.symbol)) this.#works.set(coin.symbol, createCoinWork(coin))
    }
    this.#untested.clear()
    if (untested.length === 0) this.#firstMinute = undefined
    for (const { symbol } of untested) this.#untested.add(this.#works.get(symbol) as CoinWork)
  }

  async look(isBusy: (work: CoinWork) => boolean): Promise<void> {
    const now = this.#options.clock.now()
    const isTimeForRecent = now - this.#lookedAtRecentAt >= LOOK_AT_RECENT_EVERY_MS
    await this.#lookAtKnown()
    for (const work of this.#works.values()) {
      if (isBusy(work)) continue
      if (this.#untested.has(work)) await this.#lookAtNewest(work)
      else if (now - (this.#lookedAt.get(work) ?? Number.NEGATIVE_INFINITY) >= LOOK_EVERY_MS) {
        await this.#lookAtAll(work)
      } else if (isTimeForRecent) {
        const end = this.#ripe(LEFT_TO_FEEDS_MS) + 1
        await this.#lookAt(work, end - RECENT_MINUTES, end)
      }
    }
    if (isTimeForRecent) this.#lookedAtRecentAt = now
    if ([...this.#works.values()].some(({ holes }) => (holes.at(-1)?.end ?? 0) > this.#newest + 1)) {
      this.#newest = await findNewestMinute(this.#ripe(CANDLE_GRACE_MS), this.#options.fetchPage)
    }
  }

  next(isBusy: (work: CoinWork) => boolean) {
    const now = this.#options.clock.now()
    const urgentFrom = minuteOf(now) - URGENT_MINUTES
    let best: { work: CoinWork; minutes: readonly EpochMinute[]; newest: EpochMinute } | undefined
    for (const work of this.#works.values()) {
      if (isBusy(work)) continue
      const minutes = work.next(now, this.#newest)
      const newest = minutes.at(-1)
      if (newest === undefined) continue
      if (best === undefined || compareWork(newest, best.newest, urgentFrom) < 0)
        best = { work, minutes, newest }
    }
    return best
  }

  /** The minutes that the minute loop has named, as soon as their candles can be read. */
  async #lookAtKnown(): Promise<void> {
    const ripe = this.#ripe(CANDLE_GRACE_MS)
    for (const known of this.#known.filter(({ minute }) => minute <= ripe)) {
      for (const symbol of known.missing) {
        const work = this.#works.get(symbol)
        if (work !== undefined) await this.#lookAt(work, known.minute, known.minute + 1)
      }
      this.#known = this.#known.filter(other => other !== known)
    }
  }

  /** All that is kept. What passed before this ingester was there is known not to have been sampled by it. */
  async #lookAtAll(work: CoinWork): Promise<void> {
    const { days, clock } = this.#options
    const now = clock.now()
    const end =
      Math.max(this.#ripe(LEFT_TO_FEEDS_MS), Math.min(this.#startMinute, this.#ripe(CANDLE_GRACE_MS))) + 1
    await this.#lookAt(work, dayStart(minuteOf(now)) - days * DAY_MINUTES, end)
    this.#lookedAt.set(work, now)
    this.#looks += 1
  }

  /** Of a coin that nothing is known of yet, the newest minute is enough. */
  async #lookAtNewest(work: CoinWork): Promise<void> {
    if (this.#lookedAt.has(work)) return
    this.#firstMinute ??= this.#ripe(CANDLE_GRACE_MS)
    await this.#lookAt(work, this.#firstMinute, this.#firstMinute + 1)
    this.#lookedAt.set(work, Number.NEGATIVE_INFINITY)
  }

  async #lookAt(work: CoinWork, start: EpochMinute, end: EpochMinute): Promise<void> {
    const { reader, clock } = this.#options
    const missing = await reader.readOpenMinutes(work.coin.symbol, start, end)
    work.look({ start, end }, missing, clock.now())
  }

  #forget(work: CoinWork): void {
    this.#works.delete(work.coin.symbol)
    this.#lookedAt.delete(work)
  }

  /** The newest minute that ended at least this long ago. */
  #ripe(ageMs: Milliseconds): EpochMinute {
    return minuteOf(this.#options.clock.now() - ageMs)
  }
}
