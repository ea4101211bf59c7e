import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  type EpochMs,
  foldDays,
  type Market,
  type Milliseconds,
  messageOf,
  minuteOf,
  RATE_MARKET,
  type Sample,
  type SettledReason,
  type UtcDate,
} from '@kimchi/core'
import type { SampleReader, SampleWriter, SettledMinute } from '@kimchi/store'
import type { BackfillLease } from './backfill-lease.ts'
import { CandleBlocks } from './candle-blocks.ts'
import { type CandleRequests, isRefusal } from './candle-requests.ts'
import { type Decided, decideWindow, type Window } from './decide-minutes.ts'
import { minutesOf, windowsOf } from './open-windows.ts'

/** Five days are exactly 36 blocks of Upbit's candles, and 9 of Binance's. */
const STEP_DAYS = 5

/** Coins in work at once. */
const COINS_AT_ONCE = 8

/** All blocks of the shared markets for a step, and what the coins in work need. */
const MAX_BLOCKS = 160

/** A coin whose candles go on failing is left out after these attempts more. */
const RETRY_MS: readonly Milliseconds[] = [5_000, 20_000, 60_000]

/** Leases are prolonged this often. */
const CLAIM_EVERY_MS: Milliseconds = 10_000

/**
 * So many days further back it is tried whether a coin without candles on Binance has older ones: it may have
 * been suspended. Upbit's candles reach back to any trade that there is, so an empty answer tells.
 */
const PROBE_DAYS = [0, 10, 30, 90, 180]

/** Why a day is not whole, for people. */
const REASONS: Readonly<Partial<Record<SettledReason, string>>> = {
  'upbit-down': 'Upbit did not trade for a part of the day',
  'binance-down': 'Binance did not trade for a part of the day',
  'no-rate': 'no KRW-USDT price for a part of the day',
  'no-upbit-price': 'no trade on Upbit for more than an hour',
  'no-binance-price': 'no trade on Binance for more than an hour',
}

/** Days of a coin that are not whole, or not there at all, and why. */
export interface Skipped {
  readonly symbol: string
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
  readonly lease: BackfillLease
  readonly requests: Pick<CandleRequests, 'fetchPage'>
  /** What ends the whole import instead of one coin. */
  readonly isFinal: (thrown: unknown) => boolean
  /** How far it is, in days of one coin. */
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/** Days of one coin in a row, as their first minutes, ascending. */
interface Step {
  readonly coin: Coin
  readonly days: readonly EpochMinute[]
}

/**
 * One import, from today back, a few days of each coin at a time: open and settled minutes where single samples
 * are kept, days that are not whole before that. What is to be done is found as it goes.
 */
export class HistoryImport {
  readonly #options: HistoryImportOptions
  readonly #context: Context
  readonly #blocks: CandleBlocks
  readonly #today: EpochMinute
  readonly #oldest: EpochMinute
  readonly #skipped = new Map<string, Skipped>()
  /** Coins of which nothing older is to be had. */
  readonly #ended = new Set<string>()
  #claimedAt: EpochMs = Number.NEGATIVE_INFINITY
  #done = 0
  #hasFailed = false

  constructor(options: HistoryImportOptions, context: Context) {
    this.#options = options
    this.#context = context
    this.#blocks = new CandleBlocks(
      (...page) => options.requests.fetchPage(...page),
      context.clock,
      MAX_BLOCKS,
    )
    this.#today = dayStart(minuteOf(context.clock.now()))
    this.#oldest = this.#today - options.days * DAY_MINUTES
  }

  /** @returns what could not be imported, by symbol, then from new to old */
  async run(): Promise<readonly Skipped[]> {
    const lanes = Array.from({ length: COINS_AT_ONCE }, (_, lane) => {
      return this.#importCoins(this.#options.coins.filter((_, at) => at % COINS_AT_ONCE === lane))
    })
    const outcomes = await Promise.allSettled(lanes)
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    return [...this.#skipped.values()].sort((a, b) => {
      return a.symbol === b.symbol ? (a.to < b.to ? 1 : -1) : a.symbol < b.symbol ? -1 : 1
    })
  }

  /** From new to old, coin by coin, so that all coins share the candles that all need. */
  async #importCoins(coins: readonly Coin[]): Promise<void> {
    const length = STEP_DAYS * DAY_MINUTES
    for (let start = this.#today - (this.#today % length); start > this.#oldest - length; start -= length) {
      const first = Math.max(start, this.#oldest)
      const end = Math.min(start + length, this.#today + DAY_MINUTES)
      const days = Array.from({ length: (end - first) / DAY_MINUTES }, (_, at) => first + at * DAY_MINUTES)
      for (const coin of coins) {
        if (this.#hasFailed) return
        await this.#importStep({ coin, days }).catch(thrown => {
          this.#hasFailed = true
          throw thrown
        })
      }
    }
  }

  async #importStep({ coin, days }: Step): Promise<void> {
    const { coins, days: all, retentionDays, onProgress } = this.#options
    if (!this.#ended.has(coin.symbol)) {
      await this.#untilOurs()
      const firstKept = this.#today - retentionDays * DAY_MINUTES
      await this.#importMinutes({ coin, days: days.filter(day => day >= firstKept) })
      await this.#importDays({ coin, days: days.filter(day => day < firstKept) })
    }
    this.#done += days.length
    onProgress(this.#done, coins.length * (all + 1), coin.symbol)
  }

  /** Another import that began later comes first: both would only share the same request limit. */
  async #untilOurs(): Promise<void> {
    const { coins, lease } = this.#options
    const { clock, signal } = this.#context
    const symbols = coins.map(({ symbol }) => symbol)
    while (!this.#hasFailed && clock.now() - this.#claimedAt >= CLAIM_EVERY_MS) {
      signal.throwIfAborted()
      if ((await lease.claim(symbols)).size === coins.length) this.#claimedAt = clock.now()
      else await clock.wait(1_000, signal)
    }
  }

  async #importMinutes({ coin, days }: Step): Promise<void> {
    const [first, last] = [days[0], days.at(-1)]
    if (first === undefined || last === undefined) return
    const { reader, writer } = this.#options
    const end = Math.min(last + DAY_MINUTES, (await this.#blocks.newest()) + 1)
    const unstored = await reader.readUnstoredMinutes(coin.symbol, first, end)
    for (const minutes of windowsOf(unstored.flatMap(minutesOf))) {
      const decided = await this.#decide({ coin, minutes })
      if (decided === undefined) return
      if (decided.samples.length + decided.settled.length > 0)
        await writer.write({ minute: minutes.at(-1) ?? 0, ...decided })
    }
  }

  /** Days of which no single samples are kept, each stored as a whole. */
  async #importDays({ coin, days }: Step): Promise<void> {
    if (days.length === 0 || this.#ended.has(coin.symbol)) return
    const finished = await this.#finishedDays(coin)
    const wanted = days.filter(day => !finished.has(dateOf(day)))
    const minutes = wanted.flatMap(day => minutesOf({ start: day, end: day + DAY_MINUTES }))
    const samples: Sample[] = []
    const settled: SettledMinute[] = []
    for (const window of windowsOf(minutes)) {
      const decided = await this.#decide({ coin, minutes: window })
      if (decided === undefined) break
      samples.push(...decided.samples)
      settled.push(...decided.settled)
    }
    for (const day of foldDays(samples)) await this.#options.writer.importDay(coin.symbol, day)
    const short = shortDays(settled)
    for (const [date, reason] of short) this.#skip(coin.symbol, reason, date)
    await this.#options.writer.markImported(coin.symbol, [...short.keys()])
    const [oldest] = minutes
    if (samples.length > 0 || oldest === undefined || this.#ended.has(coin.symbol)) return
    if (!(await this.#hasOlder(coin.binance, oldest)))
      await this.#end(coin, noOlder(coin.binance), oldest - 1)
  }

  /** Undefined where the coin has ended. */
  async #decide(window: Window): Promise<Decided | undefined> {
    const { coin, minutes } = window
    const { clock, signal, log } = this.#context
    const last = minutes.at(-1) ?? 0
    for (let failures = 0; ; failures++) {
      try {
        for (const market of [RATE_MARKET, coin.upbit]) {
          const { isEmpty } = await this.#blocks.blockOf('upbit', market, last)
          if (isEmpty) return await this.#end(coin, noOlder(market), last)
        }
        return await decideWindow(window, this.#blocks)
      } catch (thrown) {
        if (signal.aborted || this.#options.isFinal(thrown)) throw thrown
        const waitMs = isRefusal(thrown) ? undefined : RETRY_MS[failures]
        const reason = `${coin.symbol}: ${messageOf(thrown)}`
        log.warn({ reason }, waitMs === undefined ? 'coin left out' : 'will be tried again')
        if (waitMs === undefined) return await this.#end(coin, messageOf(thrown), last, 'for now')
        await clock.wait(waitMs, signal)
      }
    }
  }

  /** Nothing of a coin up to this minute is to be had; it is asked for again only by another import, or never. */
  async #end(
    coin: Coin,
    reason: string,
    minute: EpochMinute,
    until: 'for now' | 'for ever' = 'for ever',
  ): Promise<undefined> {
    if (this.#ended.has(coin.symbol)) return
    this.#ended.add(coin.symbol)
    const finished = await this.#finishedDays(coin)
    const dates: UtcDate[] = []
    for (let day = dayStart(minute); day >= this.#oldest; day -= DAY_MINUTES) {
      if (!finished.has(dateOf(day))) dates.push(dateOf(day))
    }
    for (const date of dates) this.#skip(coin.symbol, reason, date)
    if (until === 'for ever') await this.#options.writer.markImported(coin.symbol, dates)
  }

  /** Days that are whole, or as whole as an import could make them. */
  async #finishedDays({ symbol }: Coin): Promise<ReadonlySet<UtcDate>> {
    const { reader } = this.#options
    const { entries } = await reader.readDays(symbol)
    const whole = entries.filter(({ samples }) => samples === DAY_MINUTES).map(({ date }) => date)
    return new Set([...whole, ...(await reader.readImported(symbol))])
  }

  async #hasOlder(market: Market, minute: EpochMinute): Promise<boolean> {
    for (const days of PROBE_DAYS) {
      const end = minute - days * DAY_MINUTES
      const { candles } = await this.#options.requests.fetchPage('binance', market, {
        start: end - DAY_MINUTES,
        end,
      })
      if (candles.length > 0) return true
    }
    return false
  }

  #skip(symbol: string, reason: string, date: UtcDate): void {
    const key = `${symbol} ${reason}`
    const { days = 0, from = date, to = date } = this.#skipped.get(key) ?? {}
    this.#skipped.set(key, {
      ...{ symbol, reason, days: days + 1 },
      from: date < from ? date : from,
      to: date > to ? date : to,
    })
  }
}

function noOlder(market: Market): string {
  return `${market} has no older candles: not listed yet`
}

/** Days with a gap, and the reason for most of it. */
function shortDays(settled: readonly SettledMinute[]): ReadonlyMap<UtcDate, string> {
  const counts = new Map<UtcDate, Map<SettledReason, number>>()
  for (const { minute, reason } of settled) {
    const day = counts.get(dateOf(minute)) ?? new Map<SettledReason, number>()
    counts.set(dateOf(minute), day)
    day.set(reason, (day.get(reason) ?? 0) + 1)
  }
  return new Map(
    [...counts].map(([date, reasons]) => {
      const [[reason] = ['halted' as const]] = [...reasons].sort(([, a], [, b]) => b - a)
      return [date, REASONS[reason] ?? reason]
    }),
  )
}
