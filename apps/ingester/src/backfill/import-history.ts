import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  foldDays,
  isWorthALine,
  messageOf,
  minuteOf,
  RATE_MARKET,
  type UtcDate,
} from '@kimchi/core'
import { type CandleRequest, retryDelay } from '@kimchi/feeds'
import { isRetryable, type SampleReader, type SampleWriter } from '@kimchi/store'
import { BLOCK_MINUTES, CandleBlocks, DOUBTED_MS } from './candle-blocks.ts'
import { type CandleRequests, isRefusal } from './candle-requests.ts'
import { type CoinMinutes, type Decided, decideWindow } from './decide-minutes.ts'
import { minutesOf } from './open-minutes.ts'

/** Five days are exactly 36 blocks of Upbit's candles, and 9 of Binance's. */
const STEP_MINUTES = 5 * DAY_MINUTES

/** Coins that are imported at once. */
const COINS_AT_ONCE = 8

/** How many blocks are kept: those of a step, 45 of each coin at once and 81 that all coins need. */
const MAX_BLOCKS = 450

/** A coin whose candles fail without being refused is left out after so many retries, about a minute. */
const MAX_RETRIES = 7

/** Days of a coin that are not whole, or not there at all. */
export interface Skipped {
  readonly symbol: string
  /** A gap's reason where candles tell, else a sentence. */
  readonly reason: string
  readonly days: number
  /** The first and the last of them. */
  readonly from: UtcDate
  readonly to: UtcDate
  /** Whether another import may complete them. */
  readonly isFailure: boolean
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

/** What is left to import of a coin: days by their first minutes, ascending. */
interface Wanted {
  readonly coin: Coin
  readonly days: EpochMinute[]
  /** Days that an import has marked, and that have no row. */
  readonly marked: ReadonlySet<EpochMinute>
}

/** There are no candles up to a window's end, and never were. */
class NotListedYet extends Error {}

/**
 * One import of the days before the retention, from new to old, five days of each coin at a time. It decides
 * all minutes of a day that is not whole, and stores that day in one call. It waits where Redis is away.
 */
export class HistoryImport {
  readonly #options: HistoryImportOptions
  readonly #context: Context
  readonly #blocks: CandleBlocks
  readonly #skipped = new Map<string, Skipped>()

  constructor(options: HistoryImportOptions, context: Context) {
    this.#options = options
    this.#context = context
    const mayRetry = (thrown: unknown, failures: number) => !isRefusal(thrown) && failures < MAX_RETRIES
    const fetchPage = (request: CandleRequest) =>
      this.#patiently(() => options.requests.fetchPage(request), `the candles of ${request.market}`, mayRetry)
    this.#blocks = new CandleBlocks(fetchPage, context.clock, MAX_BLOCKS)
  }

  /**
   * Imports all coins, which go back in time together, since they share the reference markets' candles.
   * @returns what could not be imported, by symbol, then from new to old
   * @throws why Redis refuses what is written
   */
  async run(): Promise<readonly Skipped[]> {
    const { coins, onStep = async () => {}, onProgress } = this.#options
    const all: Wanted[] = []
    for (const coin of coins) all.push(await this.#patiently(() => this.#readWanted(coin)))
    const countDays = () => all.reduce((sum, { days }) => sum + days.length, 0)
    const total = countDays()
    while (countDays() > 0) {
      const newest = Math.max(...all.map(({ days }) => days.at(-1) ?? 0))
      const start = newest - (newest % STEP_MINUTES)
      const due = all.filter(({ days }) => (days.at(-1) ?? 0) >= start).slice(0, COINS_AT_ONCE)
      await this.#patiently(onStep)
      await Promise.all(due.map(wanted => this.#importStep(wanted, start)))
      // Nobody waits for progress after the end.
      this.#context.signal.throwIfAborted()
      onProgress(total - countDays(), total, due.at(-1)?.coin.symbol ?? '')
    }
    const skipped = [...this.#skipped.values()]
    return skipped.sort((a, b) => a.symbol.localeCompare(b.symbol) || b.to.localeCompare(a.to))
  }

  /**
   * The days that are neither whole nor as whole as an import could make them. One that is marked and has no row
   * is asked for once more: the row may have been lost.
   */
  async #readWanted(coin: Coin): Promise<Wanted> {
    const { days, retentionDays, reader } = this.#options
    const { entries } = await reader.readDays(coin.symbol)
    const rows = new Map(entries.map(({ date, samples }) => [date, samples]))
    const marks = new Set(await reader.readImported(coin.symbol))
    const today = dayStart(minuteOf(this.#context.clock.now()))
    const wanted = { coin, days: [] as EpochMinute[], marked: new Set<EpochMinute>() }
    for (let ago = days; ago > retentionDays; ago--) {
      const day = today - ago * DAY_MINUTES
      const date = dateOf(day)
      const isWhole = rows.get(date) === DAY_MINUTES || (rows.has(date) && marks.has(date))
      if (isWhole || marks.has(emptyMark(date))) continue
      wanted.days.push(day)
      if (marks.has(date)) wanted.marked.add(day)
    }
    return wanted
  }

  /**
   * Imports the coin's days from this minute on, from new to old. A coin that fails, or was not listed yet, ends
   * there; a day that candles leave undecided is left out alone.
   */
  async #importStep(wanted: Wanted, start: EpochMinute): Promise<void> {
    const { coin, days } = wanted
    const { signal, log } = this.#context
    for (let day = days.at(-1) ?? 0; day >= start; day = days.at(-1) ?? 0) {
      const decided: Decided[] = []
      let end: unknown
      try {
        for (const minutes of windowsOf(day)) {
          const window = await this.#decide({ coin, minutes })
          decided.push(window)
          if (window.open.length > 0) break
        }
      } catch (thrown) {
        signal.throwIfAborted()
        end = thrown
      }
      const hasFailed = end !== undefined && !(end instanceof NotListedYet)
      if (hasFailed) log.warn({ reason: `${coin.symbol}: ${messageOf(end)}` }, 'coin left out')
      else await this.#storeDay(wanted, day, decided)
      const left = days.splice(end === undefined ? -1 : 0)
      if (end === undefined) continue
      for (const each of left) this.#skip(coin.symbol, messageOf(end), dateOf(each), hasFailed)
    }
  }

  /**
   * Decides a window; what candles leave open, by what they are a minute later.
   * @throws NotListedYet before the listing
   */
  async #decide(window: CoinMinutes): Promise<Decided> {
    const { clock, signal } = this.#context
    let decided = await decideWindow(window, this.#blocks)
    if (decided.open.length > 0) {
      await clock.wait(DOUBTED_MS, signal)
      decided = await decideWindow(window, this.#blocks)
    }
    for (const market of [RATE_MARKET, window.coin.upbit]) {
      const block = await this.#blocks.blockOf('upbit', market, window.minutes.at(-1) ?? 0)
      if (block.isEmpty) throw new NotListedYet(`${market} has no older candles: not listed yet`)
    }
    return decided
  }

  async #storeDay({ coin, marked }: Wanted, day: EpochMinute, decided: readonly Decided[]): Promise<void> {
    const { writer } = this.#options
    const { symbol } = coin
    const date = dateOf(day)
    if (decided.some(({ open }) => open.length > 0)) {
      this.#skip(symbol, 'the exchanges’ candles leave minutes undecided', date, true)
      return
    }
    const [row] = foldDays(decided.flatMap(({ samples }) => samples))
    const outcome = row && (await this.#patiently(() => writer.importDay(symbol, row)))
    if (outcome === 'refused') this.#skip(symbol, 'samples of it are kept, so ingesters fill it', date)
    const reasons = new Set(decided.flatMap(({ settled }) => settled).map(({ reason }) => reason))
    for (const reason of reasons) this.#skip(symbol, reason, date)
    const mark = marked.has(day) && row === undefined ? emptyMark(date) : date
    await this.#patiently(() => writer.markImported(symbol, reasons.size > 0 ? [mark] : []))
  }

  /** Works, again and again while that fails for a reason that may pass. */
  async #patiently<T>(
    work: () => Promise<T>,
    source = 'Redis',
    mayRetry: (thrown: unknown, failures: number) => boolean = isRetryable,
  ): Promise<T> {
    const { clock, random, signal, log } = this.#context
    for (let failures = 0; ; failures++) {
      try {
        return await work()
      } catch (thrown) {
        signal.throwIfAborted()
        if (!mayRetry(thrown, failures)) throw thrown
        const reason = messageOf(thrown)
        if (isWorthALine(failures + 1)) log.warn({ reason }, `the import waits for ${source}`)
        await clock.wait(retryDelay(failures, random), signal)
      }
    }
  }

  #skip(symbol: string, reason: string, date: UtcDate, isFailure = false): void {
    const key = `${symbol} ${reason}`
    const { days = 0, from = date, to = date } = this.#skipped.get(key) ?? {}
    const range = { from: date < from ? date : from, to: date > to ? date : to }
    this.#skipped.set(key, { symbol, reason, days: days + 1, ...range, isFailure })
  }
}

/** The mark of a day that had no sample when it was asked for a second time. */
function emptyMark(date: UtcDate): string {
  return `${date} empty`
}

/** A day's minutes by the blocks of candles that decide them, from new to old. */
function windowsOf(day: EpochMinute): (readonly EpochMinute[])[] {
  const windows: (readonly EpochMinute[])[] = []
  for (let end = day + DAY_MINUTES; end > day; ) {
    const start = Math.max(day, end - 1 - ((end - 1) % BLOCK_MINUTES.upbit))
    windows.push(minutesOf({ start, end }))
    end = start
  }
  return windows
}
