import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  foldDays,
  type Milliseconds,
  messageOf,
  minuteOf,
  RATE_MARKET,
  type UtcDate,
} from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import { isRetryable, type SampleReader, type SampleWriter } from '@kimchi/store'
import { CandleBlocks, DOUBTED_MS, type OwnBlocks } from './candle-blocks.ts'
import { type CandleRequests, isRefusal } from './candle-requests.ts'
import { type CoinMinutes, type Decided, decideWindow, NOTHING } from './decide-minutes.ts'
import { minutesOf, windowsOf } from './open-minutes.ts'

/** Five days are exactly 36 blocks of Upbit's candles, and 9 of Binance's. */
const STEP_MINUTES = 5 * DAY_MINUTES

/** Coins that are imported at once. */
const COINS_AT_ONCE = 8

/** How many blocks of the shared markets are kept: those of a step. */
const MAX_BLOCKS = 100

/** A coin whose candles fail without being refused is left out after these retries. */
const RETRIES_MS: readonly Milliseconds[] = [5_000, 20_000, 60_000]

/** Days of a coin that are not whole, or not there at all. */
export interface Skipped {
  readonly symbol: string
  /** A gap's reason where candles tell, else a sentence. */
  readonly reason: string
  readonly days: number
  /** The first and the last of them. */
  readonly from: UtcDate
  readonly to: UtcDate
}

export interface HistoryImportOptions {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today. */
  readonly days: number
  /** Of these and of today the ingesters keep single samples: they fill them. */
  readonly retentionDays: number
  readonly reader: Pick<SampleReader, 'readDays' | 'readImported'>
  readonly writer: Pick<SampleWriter, 'importDay' | 'markImported'>
  /** Called before each step, e.g. to go on at another pace. */
  readonly onStep?: () => Promise<void>
  readonly requests: Pick<CandleRequests, 'fetchPage'>
  /** Called with the progress, in days of one coin. */
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/** A coin's candles can't be fetched for now. */
class CoinFailure extends Error {}

/**
 * One import of the days before the retention, from new to old, five days of each coin at a time. It decides
 * all minutes of a day that is not whole, and stores that day in one call. It waits where Redis is away.
 */
export class HistoryImport {
  readonly #options: HistoryImportOptions
  readonly #context: Context
  readonly #blocks: CandleBlocks
  /** The day after the last one. */
  readonly #end: EpochMinute
  readonly #oldest: EpochMinute
  readonly #skipped = new Map<string, Skipped>()
  /** Coins of which nothing older can be imported. */
  readonly #ended = new Set<string>()
  #done = 0
  #hasFailed = false
  /** Why Redis can't be read or written. */
  #problem: string | undefined

  constructor(options: HistoryImportOptions, context: Context) {
    const { requests, days, retentionDays } = options
    this.#options = options
    this.#context = context
    this.#blocks = new CandleBlocks(request => requests.fetchPage(request), context.clock, MAX_BLOCKS)
    const today = dayStart(minuteOf(context.clock.now()))
    this.#end = today - retentionDays * DAY_MINUTES
    this.#oldest = today - days * DAY_MINUTES
  }

  /** Whether a coin was left out that another import may complete. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /**
   * Imports all coins, which go back in time together, since they share the reference markets' candles.
   * @returns what could not be imported, by symbol, then from new to old
   * @throws why Redis refuses what is written
   */
  async run(): Promise<readonly Skipped[]> {
    const { coins, onStep } = this.#options
    const newest = this.#end - DAY_MINUTES
    for (
      let start = newest - (newest % STEP_MINUTES);
      start + STEP_MINUTES > this.#oldest;
      start -= STEP_MINUTES
    ) {
      const first = Math.max(start, this.#oldest)
      const count = (Math.min(start + STEP_MINUTES, this.#end) - first) / DAY_MINUTES
      const days = Array.from({ length: count }, (_, at) => first + at * DAY_MINUTES)
      for (let at = 0; at < coins.length; at += COINS_AT_ONCE) {
        if (onStep) await this.#patiently(onStep)
        await Promise.all(coins.slice(at, at + COINS_AT_ONCE).map(coin => this.#importStep(coin, days)))
      }
    }
    const skipped = [...this.#skipped.values()]
    return skipped.sort((a, b) => a.symbol.localeCompare(b.symbol) || b.to.localeCompare(a.to))
  }

  /** @param days their first minutes, ascending */
  async #importStep(coin: Coin, days: readonly EpochMinute[]): Promise<void> {
    const { coins, onProgress } = this.#options
    try {
      await this.#importDays(coin, days)
    } catch (thrown) {
      if (!(thrown instanceof CoinFailure)) throw thrown
      this.#hasFailed = true
      await this.#endCoin(coin, thrown.message, days.at(-1) ?? 0)
    }
    // Nobody waits for progress after the end.
    this.#context.signal.throwIfAborted()
    this.#done += days.length
    onProgress(this.#done, (coins.length * (this.#end - this.#oldest)) / DAY_MINUTES, coin.symbol)
  }

  async #importDays({ symbol, ...coin }: Coin, days: readonly EpochMinute[]): Promise<void> {
    if (this.#ended.has(symbol)) return
    const { writer } = this.#options
    const { finished, imported } = await this.#knownDays(symbol)
    const wanted = days.filter(day => !finished.has(dateOf(day)))
    const minutes = wanted.flatMap(day => minutesOf({ start: day, end: day + DAY_MINUTES }))
    const decided: Decided[] = []
    for await (const window of this.#decide({ symbol, ...coin }, minutes)) decided.push(window)
    const folded = foldDays(decided.flatMap(({ samples }) => samples))
    for (const day of folded) {
      const outcome = await this.#patiently(() => writer.importDay(symbol, day))
      if (outcome === 'refused') this.#skip(symbol, 'samples of it are kept, so ingesters fill it', day.date)
    }
    const reasons = new Map<UtcDate, Set<string>>()
    for (const { minute, reason } of decided.flatMap(({ settled }) => settled)) {
      reasons.set(dateOf(minute), (reasons.get(dateOf(minute)) ?? new Set()).add(reason))
    }
    for (const [date, each] of reasons) for (const reason of each) this.#skip(symbol, reason, date)
    const hasRow = new Set(folded.map(({ date }) => date))
    const marks = [...reasons.keys()].map(date => {
      return imported.has(date) && !hasRow.has(date) ? emptyMark(date) : date
    })
    await this.#patiently(() => writer.markImported(symbol, marks))
  }

  /** Reads or writes, again and again while Redis is away. */
  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    const { clock, random, signal, log } = this.#context
    for (let failures = 0; ; failures++) {
      try {
        const result = await work()
        this.#problem = undefined
        return result
      } catch (thrown) {
        signal.throwIfAborted()
        if (!isRetryable(thrown)) throw thrown
        const reason = messageOf(thrown)
        if (this.#problem === undefined) log.warn({ reason }, 'the import waits for Redis')
        this.#problem = reason
        await clock.wait(retryDelay(failures, random), signal)
      }
    }
  }

  /** Decides minutes window by window, from new to old, until the coin ends. @throws CoinFailure */
  async *#decide(coin: Coin, minutes: readonly EpochMinute[]): AsyncGenerator<Decided> {
    const own: OwnBlocks = new Map()
    for (const window of windowsOf(minutes)) {
      yield await this.#decideWindow({ coin, minutes: window }, own)
      if (this.#ended.has(coin.symbol)) return
    }
  }

  async #decideWindow(window: CoinMinutes, own: OwnBlocks): Promise<Decided> {
    const { clock, signal, log } = this.#context
    let hasDoubted = false
    for (let failures = 0; ; failures++) {
      try {
        if (await this.#isBeforeListing(window, own)) return NOTHING
        const decided = await decideWindow(window, this.#blocks, own)
        if (decided.doubted.length === 0 || hasDoubted) return decided
        hasDoubted = true
        await clock.wait(DOUBTED_MS, signal)
      } catch (thrown) {
        signal.throwIfAborted()
        const waitMs = isRefusal(thrown) ? undefined : RETRIES_MS[failures]
        const outcome =
          waitMs === undefined ? 'coin left out' : 'candles cannot be fetched, the import will try again'
        log.warn({ reason: `${window.coin.symbol}: ${messageOf(thrown)}` }, outcome)
        if (waitMs === undefined) throw new CoinFailure(messageOf(thrown))
        await clock.wait(waitMs, signal)
      }
    }
  }

  /** Whether there are no candles up to a window's end, and never were: then the coin ends. */
  async #isBeforeListing({ coin, minutes }: CoinMinutes, own: OwnBlocks): Promise<boolean> {
    const last = minutes.at(-1) ?? 0
    for (const market of [RATE_MARKET, coin.upbit]) {
      const { isEmpty } = await this.#blocks.blockOf('upbit', market, last, own)
      if (!isEmpty) continue
      await this.#endCoin(coin, `${market} has no older candles: not listed yet`, last)
      return true
    }
    return false
  }

  /** Nothing of a coin up to this minute can be imported; another import tries again. */
  async #endCoin({ symbol }: Coin, reason: string, minute: EpochMinute): Promise<void> {
    this.#ended.add(symbol)
    const { finished } = await this.#knownDays(symbol)
    for (let day = dayStart(minute); day >= this.#oldest; day -= DAY_MINUTES) {
      if (!finished.has(dateOf(day))) this.#skip(symbol, reason, dateOf(day))
    }
  }

  /**
   * Days that are whole, or as whole as an import could make them, and those that an import has marked. One that
   * is marked and has no row is asked for once more: the row may have been lost.
   */
  async #knownDays(symbol: string) {
    const { reader } = this.#options
    const { entries } = await this.#patiently(() => reader.readDays(symbol))
    const imported = new Set(await this.#patiently(() => reader.readImported(symbol)))
    const finished = entries.filter(({ date, samples }) => samples === DAY_MINUTES || imported.has(date))
    const empty = [...imported].filter(mark => imported.has(emptyMark(mark)))
    return { finished: new Set([...finished.map(({ date }) => date), ...empty]), imported }
  }

  #skip(symbol: string, reason: string, date: UtcDate): void {
    const key = `${symbol} ${reason}`
    const { days = 0, from = date, to = date } = this.#skipped.get(key) ?? {}
    const range = { from: date < from ? date : from, to: date > to ? date : to }
    this.#skipped.set(key, { symbol, reason, days: days + 1, ...range })
  }
}

/** The mark of a day that had no sample when it was asked for a second time. */
function emptyMark(date: UtcDate): string {
  return `${date} empty`
}
