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
import type { SampleReader, SampleWriter } from '@kimchi/store'
import { type BackfillLease, CLAIM_EVERY_MS } from './backfill-lease.ts'
import { CandleBlocks } from './candle-blocks.ts'
import { type CandleRequests, isRefusal } from './candle-requests.ts'
import { type CoinMinutes, type Decided, decideWindow, NOTHING } from './decide-minutes.ts'
import { minutesOf, windowsOf } from './open-windows.ts'

/** Five days are exactly 36 blocks of Upbit's candles, and 9 of Binance's. */
const STEP_MINUTES = 5 * DAY_MINUTES

/** Coins that are imported at once. */
const COINS_AT_ONCE = 8

/** How many blocks are kept: those of the shared markets for a step, and those of the coins under way. */
const MAX_BLOCKS = 160

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

/** What an import works with. */
export interface HistoryImportOptions {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today. */
  readonly days: number
  /** Days of which single samples are kept. */
  readonly retentionDays: number
  readonly reader: Pick<SampleReader, 'readUnstoredMinutes' | 'readDays' | 'readImported'>
  readonly writer: Pick<SampleWriter, 'write' | 'importDay' | 'markImported'>
  readonly lease: Pick<BackfillLease, 'claim'>
  readonly requests: Pick<CandleRequests, 'fetchPage'>
  /** Called with the progress, in days of one coin. */
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/** A coin's candles can't be fetched for now. */
class CoinFailure extends Error {}

/**
 * One import, from today back, five days of each coin at a time: open and settled minutes where single samples
 * are kept, days that are not whole before that.
 */
export class HistoryImport {
  readonly #options: HistoryImportOptions
  readonly #context: Context
  readonly #blocks: CandleBlocks
  readonly #today: EpochMinute
  readonly #oldest: EpochMinute
  readonly #skipped = new Map<string, Skipped>()
  /** Coins of which nothing older can be imported. */
  readonly #ended = new Set<string>()
  #done = 0
  #hasFailed = false

  constructor(options: HistoryImportOptions, context: Context) {
    const { requests, days } = options
    this.#options = options
    this.#context = context
    this.#blocks = new CandleBlocks(range => requests.fetchPage(range), context.clock, MAX_BLOCKS)
    this.#today = dayStart(minuteOf(context.clock.now()))
    this.#oldest = this.#today - days * DAY_MINUTES
  }

  /** Whether a coin was left out that another import may complete. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /**
   * Imports all coins. The caller aborts the context's signal afterwards, which ends what is still under way.
   * @returns what could not be imported, by symbol, then from new to old
   * @throws why Redis could not be read or written
   */
  async run(): Promise<readonly Skipped[]> {
    await Promise.race([this.#importAll(), this.#keepClaiming()])
    const skipped = [...this.#skipped.values()]
    return skipped.sort((a, b) => a.symbol.localeCompare(b.symbol) || b.to.localeCompare(a.to))
  }

  /** Goes back in time with all coins together, since they share the reference markets' candles. */
  async #importAll(): Promise<void> {
    const { coins } = this.#options
    for (let start = this.#today - (this.#today % STEP_MINUTES); ; start -= STEP_MINUTES) {
      const end = Math.min(start + STEP_MINUTES, this.#today + DAY_MINUTES)
      if (end <= this.#oldest) return
      const first = Math.max(start, this.#oldest)
      const days = Array.from({ length: (end - first) / DAY_MINUTES }, (_, at) => first + at * DAY_MINUTES)
      for (let at = 0; at < coins.length; at += COINS_AT_ONCE) {
        const together = coins.slice(at, at + COINS_AT_ONCE)
        await Promise.all(together.map(coin => this.#importStep(coin, days)))
      }
    }
  }

  /** Keeps the leases, so that ingesters leave the coins to the import. */
  async #keepClaiming(): Promise<void> {
    const { coins, lease } = this.#options
    const { clock, signal } = this.#context
    while (!signal.aborted) {
      await lease.claim(coins.map(({ symbol }) => symbol))
      await clock.wait(CLAIM_EVERY_MS, signal)
    }
    signal.throwIfAborted()
  }

  /** @param days their first minutes, ascending */
  async #importStep(coin: Coin, days: readonly EpochMinute[]): Promise<void> {
    const { coins, days: all, retentionDays, onProgress } = this.#options
    const firstKept = this.#today - retentionDays * DAY_MINUTES
    try {
      const kept = days.filter(day => day >= firstKept)
      await this.#importMinutes(coin, kept)
      await this.#importDays(coin, days.slice(0, days.length - kept.length))
    } catch (thrown) {
      if (!(thrown instanceof CoinFailure)) throw thrown
      this.#hasFailed = true
      await this.#end(coin, thrown.message, days.at(-1) ?? 0)
    }
    // Nobody waits for progress after the end.
    this.#context.signal.throwIfAborted()
    this.#done += days.length
    onProgress(this.#done, coins.length * (all + 1), coin.symbol)
  }

  /** Days of which single samples are kept. */
  async #importMinutes(coin: Coin, days: readonly EpochMinute[]): Promise<void> {
    const [first, last] = [days[0], days.at(-1)]
    if (first === undefined || last === undefined || this.#ended.has(coin.symbol)) return
    const { reader, writer } = this.#options
    const end = Math.min(last + DAY_MINUTES, (await this.#blocks.newest()) + 1)
    const unstored = await reader.readUnstoredMinutes(coin.symbol, first, end)
    for await (const { samples, settled } of this.#decide(coin, unstored.flatMap(minutesOf))) {
      const minute = samples.at(-1)?.minute ?? settled.at(-1)?.minute
      if (minute !== undefined) await writer.write({ minute, samples, settled })
    }
  }

  /** Days of which no single samples are kept, each stored as a whole. */
  async #importDays(coin: Coin, days: readonly EpochMinute[]): Promise<void> {
    if (days.length === 0 || this.#ended.has(coin.symbol)) return
    const { writer } = this.#options
    const finished = await this.#finishedDays(coin)
    const wanted = days.filter(day => !finished.has(dateOf(day)))
    const minutes = wanted.flatMap(day => minutesOf({ start: day, end: day + DAY_MINUTES }))
    const decided: Decided[] = []
    for await (const window of this.#decide(coin, minutes)) decided.push(window)
    for (const day of foldDays(decided.flatMap(({ samples }) => samples)))
      await writer.importDay(coin.symbol, day)
    const reasons = new Map<UtcDate, Set<string>>()
    for (const { minute, reason } of decided.flatMap(({ settled }) => settled)) {
      reasons.set(dateOf(minute), (reasons.get(dateOf(minute)) ?? new Set()).add(reason))
    }
    for (const [date, each] of reasons) for (const reason of each) this.#skip(coin.symbol, reason, date)
    await writer.markImported(coin.symbol, [...reasons.keys()])
  }

  /** Decides minutes window by window, from new to old, until the coin ends. @throws CoinFailure */
  async *#decide(coin: Coin, minutes: readonly EpochMinute[]): AsyncGenerator<Decided> {
    for (const window of windowsOf(minutes)) {
      yield await this.#decideWindow({ coin, minutes: window })
      if (this.#ended.has(coin.symbol)) return
    }
  }

  async #decideWindow(window: CoinMinutes): Promise<Decided> {
    const { clock, signal, log } = this.#context
    for (let failures = 0; ; failures++) {
      try {
        return (await this.#isBeforeListing(window)) ? NOTHING : await decideWindow(window, this.#blocks)
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
  async #isBeforeListing({ coin, minutes }: CoinMinutes): Promise<boolean> {
    const last = minutes.at(-1) ?? 0
    for (const market of [RATE_MARKET, coin.upbit]) {
      const { isEmpty } = await this.#blocks.blockOf('upbit', market, last)
      if (!isEmpty) continue
      await this.#end(coin, `${market} has no older candles: not listed yet`, last)
      return true
    }
    return false
  }

  /** Nothing of a coin up to this minute can be imported; another import tries again. */
  async #end(coin: Coin, reason: string, minute: EpochMinute): Promise<void> {
    this.#ended.add(coin.symbol)
    const finished = await this.#finishedDays(coin)
    for (let day = dayStart(minute); day >= this.#oldest; day -= DAY_MINUTES) {
      if (!finished.has(dateOf(day))) this.#skip(coin.symbol, reason, dateOf(day))
    }
  }

  /** Days that are whole, or as whole as an import could make them. */
  async #finishedDays({ symbol }: Coin): Promise<ReadonlySet<UtcDate>> {
    const { reader } = this.#options
    const { entries } = await reader.readDays(symbol)
    const whole = entries.filter(({ samples }) => samples === DAY_MINUTES).map(({ date }) => date)
    return new Set([...whole, ...(await reader.readImported(symbol))])
  }

  #skip(symbol: string, reason: string, date: UtcDate): void {
    const key = `${symbol} ${reason}`
    const { days = 0, from = date, to = date } = this.#skipped.get(key) ?? {}
    const range = { from: date < from ? date : from, to: date > to ? date : to }
    this.#skipped.set(key, { symbol, reason, days: days + 1, ...range })
  }
}
