import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  foldDays,
  type Market,
  messageOf,
  minuteOf,
  RATE_MARKET,
  type UtcDate,
} from '@kimchi/core'
import { HttpError, type RestClient, Retry } from '@kimchi/feeds'
import { isRetryable, type SampleReader, type SampleWriter } from '@kimchi/store'
import type { CoinMinutes } from './candle-block.ts'
import { BLOCK_MINUTES, CandleBlockCache, CONFIRM_MISSING_AFTER_MS } from './candle-block-cache.ts'
import { type Decided, decideWindow } from './decide-minutes.ts'

/** Five days are exactly 36 blocks of Upbit's candles, and 9 of Binance's. */
const STEP_MINUTES = 5 * DAY_MINUTES

/** Coins that go back in time together. */
const COINS_IN_STEP = 4

/**
 * A coin whose candles fail without being refused is left out after so many retries: ten minutes, or an hour of stated
 * waits.
 */
const MAX_RETRIES = 30

/** Binance has no candle that opens before. */
const BINANCE_BEGAN: EpochMinute = minuteOf(Date.UTC(2017, 6, 1))

/** Days of a coin that the import could not complete, for one reason. */
export interface Skipped {
  readonly symbol: string
  /** A gap's reason if candles show it, else a sentence. */
  readonly reason: string
  readonly days: number
  /** The first and the last of them. */
  readonly from: UtcDate
  readonly to: UtcDate
  /** Whether another run may complete them. */
  readonly mayImportAgain: boolean
}

export interface HistoryImportOptions {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today. */
  readonly days: number
  /** Newer days still have one-minute samples in Redis; the ingesters fill those. */
  readonly retentionDays: number
  readonly reader: Pick<SampleReader, 'readDays' | 'readImported'>
  readonly writer: Pick<SampleWriter, 'importDay' | 'markImported'>
  readonly rest: Pick<RestClient, 'fetchCandles'>
  /** Called at first, and after each step, with the days of coins that are left. */
  readonly onProgress: (left: number, symbol: string) => void
}

/** The days of a coin that are still to be imported. */
interface Wanted {
  readonly coin: Coin
  /** Each by its first minute, ascending. */
  readonly days: EpochMinute[]
}

/** A market was not listed yet at the end of a window, so its coin has no older history. */
class NotListedYet extends Error {
  constructor(market: Market) {
    const since = market === RATE_MARKET ? 'before it no premium can be known' : 'not listed yet'
    super(`${market} has no older candles: ${since}`)
  }
}

/**
 * One import of the days before the retention, from new to old, five days of each coin at a time. It decides
 * all minutes of a day that is not whole, and stores that day in one call. While Redis is away, it waits.
 * It asks for candles that fail again and again for ten minutes, longer where the exchange states a wait.
 */
export class HistoryImport {
  readonly #options: HistoryImportOptions
  readonly #context: Context
  readonly #rest: HistoryImportOptions['rest']
  readonly #blocks: CandleBlockCache
  /** The minute of each market's first candle; only of those that were asked for. */
  readonly #firstCandles = new Map<Market, EpochMinute>()
  readonly #skipped = new Map<string, Skipped>()

  constructor(options: HistoryImportOptions, context: Context) {
    this.#options = options
    this.#context = context
    const mayRetry = (thrown: unknown, failures: number) => !isRefusal(thrown) && failures < MAX_RETRIES
    this.#rest = {
      fetchCandles: request =>
        this.#retrying(
          () => options.rest.fetchCandles(request),
          `the candles of ${request.market}`,
          mayRetry,
        ),
    }
    this.#blocks = new CandleBlockCache(this.#rest, context)
  }

  /**
   * Imports all coins, which go back in time together, since they share the reference markets' candles.
   * @returns what could not be imported, by symbol, then from new to old
   * @throws why Redis refuses what is written
   */
  async run(): Promise<readonly Skipped[]> {
    const { coins, onProgress } = this.#options
    const all: Wanted[] = []
    for (const coin of coins) all.push(await this.#retrying(() => this.#readWanted(coin)))
    const countDays = () => all.reduce((sum, { days }) => sum + days.length, 0)
    onProgress(countDays(), '')
    while (countDays() > 0) {
      const newest = Math.max(...all.map(({ days }) => days.at(-1) ?? 0))
      const start = newest - (newest % STEP_MINUTES)
      const due = all.filter(({ days }) => (days.at(-1) ?? 0) >= start).slice(0, COINS_IN_STEP)
      await Promise.all(due.map(wanted => this.#importStep(wanted, start)))
      // After an abort, report no progress.
      this.#context.signal.throwIfAborted()
      onProgress(countDays(), due.at(-1)?.coin.symbol ?? '')
    }
    const skipped = [...this.#skipped.values()]
    return skipped.sort((a, b) => a.symbol.localeCompare(b.symbol) || b.to.localeCompare(a.to))
  }

  /**
   * Days that lack samples and that no earlier import has completed as far as possible. Its mark tells whether
   * the day has a row, so that one that Redis has lost is imported again.
   */
  async #readWanted(coin: Coin): Promise<Wanted> {
    const { days, retentionDays, reader } = this.#options
    const { entries } = await reader.readDays(coin.symbol)
    const rows = new Map(entries.map(({ date, samples }) => [date, samples]))
    const marks = new Set(await reader.readImported(coin.symbol))
    const today = dayStart(minuteOf(this.#context.clock.now()))
    const wanted: EpochMinute[] = []
    for (let ago = days; ago > retentionDays; ago--) {
      const day = today - ago * DAY_MINUTES
      const date = dateOf(day)
      const isMarked = (isImplausible: boolean) => marks.has(markOf(date, rows.has(date), isImplausible))
      const isDone = rows.get(date) === DAY_MINUTES || isMarked(false) || (!coin.allowed && isMarked(true))
      if (!isDone) wanted.push(day)
    }
    return { coin, days: wanted }
  }

  /**
   * Imports the coin's days from this minute on, from new to old. The first failure ends the coin's import, and
   * so does the day of its listing.
   */
  async #importStep({ coin, days }: Wanted, start: EpochMinute): Promise<void> {
    const { signal, log } = this.#context
    for (let day = days.at(-1) ?? 0; day >= start; day = days.at(-1) ?? 0) {
      const decided: Decided[] = []
      let end: unknown
      try {
        for (const minutes of windowsOf(day)) decided.push(await this.#decide({ coin, minutes }))
      } catch (thrown) {
        signal.throwIfAborted()
        end = thrown
      }
      if (end === undefined || end instanceof NotListedYet) await this.#storeDay(coin, day, decided)
      else log.warn({ reason: `${coin.symbol}: ${messageOf(end)}` }, 'coin left out')
      if (end === undefined) days.pop()
      else for (const left of days.splice(0).reverse()) this.#skip(coin, left, end)
    }
  }

  /**
   * Decides a window. If candles leave minutes open, tries once more a minute later.
   * @throws NotListedYet
   */
  async #decide(window: CoinMinutes): Promise<Decided> {
    const { clock, signal } = this.#context
    let decided = await decideWindow(window, this.#blocks)
    if (decided.open.length > 0) {
      await clock.wait(CONFIRM_MISSING_AFTER_MS, signal)
      decided = await decideWindow(window, this.#blocks)
    }
    const { upbit, binance } = window.coin
    const newest = window.minutes.at(-1) ?? 0
    for (const market of [RATE_MARKET, upbit])
      if ((await this.#blocks.blockOf('upbit', market, newest)).isEmpty) throw new NotListedYet(market)
    const block = await this.#blocks.blockOf('binance', binance, newest)
    if (block.isEmpty && (await this.#firstCandleOf(binance)) > newest) throw new NotListedYet(binance)
    return decided
  }

  /** The minute of Binance's first candle of a market. An empty block alone may be a halt or maintenance. */
  async #firstCandleOf(market: Market): Promise<EpochMinute> {
    const known = this.#firstCandles.get(market)
    if (known !== undefined) return known
    const request = { exchange: 'binance', market, count: 1, first: BINANCE_BEGAN } as const
    const { candles } = await this.#rest.fetchCandles(request)
    const first = candles[0]?.[0] ?? Number.NEGATIVE_INFINITY
    this.#firstCandles.set(market, first)
    return first
  }

  async #storeDay(coin: Coin, day: EpochMinute, decided: readonly Decided[]): Promise<void> {
    const { writer } = this.#options
    const { symbol } = coin
    if (decided.some(({ open }) => open.length > 0))
      return this.#skip(coin, day, new Error('the exchanges’ candles leave minutes undecided'))
    const [row] = foldDays(decided.flatMap(({ samples }) => samples))
    const outcome = row && (await this.#retrying(() => writer.importDay(symbol, row)))
    if (outcome === 'refused')
      return this.#skip(coin, day, new Error('Redis still keeps single samples of it'))
    const reasons = new Set(decided.flatMap(({ settled }) => settled).map(({ reason }) => reason))
    for (const reason of reasons) this.#skip(coin, day, reason)
    const mark = markOf(dateOf(day), row !== undefined, reasons.has('implausible'))
    const marks = reasons.size > 0 ? [mark] : []
    await this.#retrying(() => writer.markImported(symbol, marks))
  }

  /** Repeats `work` until it succeeds or fails for good. */
  async #retrying<T>(
    work: () => Promise<T>,
    source = 'Redis',
    mayRetry: (thrown: unknown, failures: number) => boolean = isRetryable,
  ): Promise<T> {
    const retry = new Retry(this.#context)
    for (;;) {
      try {
        return await work()
      } catch (thrown) {
        this.#context.signal.throwIfAborted()
        if (!mayRetry(thrown, retry.failures)) throw thrown
        await retry.wait(thrown, `the import waits for ${source}`)
      }
    }
  }

  /**
   * Notes a day that is not whole, after the newer ones.
   * @param why an Error where another run may complete it
   */
  #skip({ symbol }: Coin, day: EpochMinute, why: unknown): void {
    const reason = messageOf(why)
    const mayImportAgain = why instanceof Error && !(why instanceof NotListedYet)
    const date = dateOf(day)
    const key = `${symbol} ${reason}`
    const { days = 0, to = date } = this.#skipped.get(key) ?? {}
    this.#skipped.set(key, { symbol, reason, days: days + 1, from: date, to, mayImportAgain })
  }
}

/** A day's minutes, the newest first, in parts that each lie within one block of Upbit. */
function* windowsOf(day: EpochMinute): Generator<readonly EpochMinute[], void, void> {
  for (let end = day + DAY_MINUTES; end > day; ) {
    const start = Math.max(day, end - 1 - ((end - 1) % BLOCK_MINUTES.upbit))
    yield Array.from({ length: end - start }, (_, offset) => start + offset)
    end = start
  }
}

/** Whether the exchange refused the request itself. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.status >= 400 && thrown.status < 500
}

/** How Redis remembers a day that candles did not fill, wholly or partly, or that only `ALLOW` would. */
function markOf(date: UtcDate, hasRow: boolean, isImplausible: boolean): string {
  return `${date}${hasRow ? '' : ' empty'}${isImplausible ? ' implausible' : ''}`
}
