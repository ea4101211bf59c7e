import {
  type Clock,
  type Coin,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  type EpochMs,
  HOUR_MS,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
  minuteOf,
  minuteStart,
} from '@kimchi/core'
import type { MinuteRange, SampleReader } from '@kimchi/store'
import { CANDLE_GRACE_MS, ROW_MINUTES, WINDOW_MINUTES } from './candle-blocks.ts'
import { isRefusal } from './candle-requests.ts'
import type { Window } from './decide-minutes.ts'

/** How often Redis is asked for open minutes: of all that is kept, and of the last minutes. */
const READ_EVERY_MS: Milliseconds = 300_000
const READ_RECENT_EVERY_MS: Milliseconds = MINUTE_MS
const RECENT_MINUTES = 15

/** A minute that the minute loop has not had is left to the feeds for this long. */
const LEFT_TO_FEEDS_MS: Milliseconds = 180_000

/** Open minutes that are no older than this come before all others. */
const URGENT_MINUTES = 10

/** A coin whose candles fail for no clear reason is tried again soon at first, … */
const FIRST_RETRIES_MS: readonly Milliseconds[] = [5_000, 20_000, 60_000]

/** … one that is refused, or goes on failing, this often in its first hour, … */
const RETRY_MS: Milliseconds = 120_000

/** … and then when a sixth of the time has passed for which it has been failing, an hour at most. */
const LATER_SHARE = 6
const RAREST_RETRY_MS: Milliseconds = HOUR_MS

/** Why a coin waits. */
export interface CoinTrouble {
  readonly symbol: string
  readonly reason: string
  readonly retryAt: EpochMs
}

/** What the minute loop is done with: the minute has been sampled or is a gap. */
export interface TurnedMinute {
  readonly minute: EpochMinute
  /** Coins whose sample waits for the next minute to agree with it. */
  readonly waiting: readonly string[]
}

/** Where open minutes are read. */
export interface OpenWindowsOptions {
  readonly reader: Pick<SampleReader, 'readOpenMinutes'>
  /** Whole UTC days before today that are kept without gaps that candles can fill. */
  readonly days: number
  readonly clock: Clock
}

/** The open minutes of the coins, as Redis named them last, and which window of them comes next. */
export class OpenWindows {
  readonly #options: OpenWindowsOptions
  readonly #coins = new Map<string, OpenCoin>()
  /** What the minute loop had last; at first nothing before now: nobody else here will sample that. */
  #turned: TurnedMinute
  #reads = 0

  constructor(options: OpenWindowsOptions) {
    this.#options = options
    this.#turned = { minute: minuteOf(options.clock.now()), waiting: [] }
  }

  /** How often all that is kept of a coin was read. */
  get reads(): number {
    return this.#reads
  }

  /** How many open minutes are known, one a coin and minute. */
  get open(): number {
    return [...this.#coins.values()].reduce((sum, { open }) => sum + countMinutes(open), 0)
  }

  get waiting(): readonly CoinTrouble[] {
    return [...this.#coins.values()].flatMap(({ trouble }) => trouble ?? [])
  }

  /** A minute has turned: its gaps are read as soon as their candles can be had. */
  learn(turned: TurnedMinute): void {
    this.#turned = turned
    const readableAt = minuteStart(turned.minute) + CANDLE_GRACE_MS
    for (const coin of this.#coins.values()) coin.recentAt = Math.min(coin.recentAt, readableAt)
  }

  /** Works for these coins from now on, and forgets all others. */
  follow(coins: readonly Coin[]): void {
    const before = new Map(this.#coins)
    this.#coins.clear()
    for (const coin of coins) {
      const known = before.get(coin.symbol)
      const isSame = known?.coin.upbit === coin.upbit && known.coin.binance === coin.binance
      this.#coins.set(coin.symbol, known !== undefined && isSame ? known : newOpenCoin(coin))
    }
  }

  /** Reads what is due. @param isBusy coins that have a window under way are left for later */
  async read(isBusy: (symbol: string) => boolean): Promise<void> {
    const { clock, days } = this.#options
    for (const coin of this.#coins.values()) {
      const now = clock.now()
      if (isBusy(coin.coin.symbol) || now < Math.min(coin.allAt, coin.recentAt)) continue
      const end = this.#endOf(coin.coin.symbol)
      if (now >= coin.allAt) {
        await this.#readFrom(coin, dayStart(minuteOf(now)) - days * DAY_MINUTES, end)
        coin.allAt = now + READ_EVERY_MS
        this.#reads += 1
      } else await this.#readFrom(coin, end - RECENT_MINUTES, end)
      coin.recentAt = now + READ_RECENT_EVERY_MS
    }
  }

  /** A row of windows to fill next, no longer open then: those of the last minutes first, then by day. */
  next(isBusy: (symbol: string) => boolean): Window | undefined {
    const now = this.#options.clock.now()
    const rankOf = (newest: EpochMinute) =>
      newest >= minuteOf(now) - URGENT_MINUTES ? Number.POSITIVE_INFINITY : Math.floor(newest / DAY_MINUTES)
    let best: OpenCoin | undefined
    let bestRank = Number.NEGATIVE_INFINITY
    for (const coin of this.#coins.values()) {
      const newest = newestOf(coin)
      if (newest === undefined || now < (coin.trouble?.retryAt ?? 0) || isBusy(coin.coin.symbol)) continue
      const rank = rankOf(newest)
      if (rank > bestRank) [best, bestRank] = [coin, rank]
    }
    return best && shiftRow(best)
  }

  /** The coin is not asked for again for a while; then all of it is read again. */
  fail(symbol: string, thrown: unknown): CoinTrouble | undefined {
    const coin = this.#coins.get(symbol)
    if (coin === undefined) return undefined
    const now = this.#options.clock.now()
    if (coin.failures === 0) coin.failingSince = now
    const first = isRefusal(thrown) ? undefined : FIRST_RETRIES_MS[coin.failures]
    coin.failures += 1
    const failingMs = now - coin.failingSince
    const later = failingMs < HOUR_MS ? RETRY_MS : Math.min(failingMs / LATER_SHARE, RAREST_RETRY_MS)
    coin.trouble = { symbol, reason: messageOf(thrown), retryAt: now + (first ?? later) }
    coin.allAt = coin.trouble.retryAt
    return coin.trouble
  }

  succeed(symbol: string): void {
    const coin = this.#coins.get(symbol)
    if (coin === undefined) return
    coin.failures = 0
    coin.trouble = undefined
  }

  /** Up to this minute, not including it, an open minute is nobody's but ours. */
  #endOf(symbol: string): EpochMinute {
    const now = this.#options.clock.now()
    const { minute, waiting } = this.#turned
    const turned = waiting.includes(symbol) ? minute - 1 : minute
    return Math.min(minuteOf(now - CANDLE_GRACE_MS), Math.max(turned, minuteOf(now - LEFT_TO_FEEDS_MS))) + 1
  }

  async #readFrom(coin: OpenCoin, from: EpochMinute, end: EpochMinute): Promise<void> {
    const open = await this.#options.reader.readOpenMinutes(coin.coin.symbol, from, end)
    coin.open = [...before(coin.open, from), ...open]
  }
}

/** What is known of one coin. */
interface OpenCoin {
  readonly coin: Coin
  /** Ascending. */
  open: readonly MinuteRange[]
  /** When all that is kept, and when the last minutes are read again. */
  allAt: EpochMs
  recentAt: EpochMs
  failures: number
  failingSince: EpochMs
  trouble: CoinTrouble | undefined
}

function newOpenCoin(coin: Coin): OpenCoin {
  return { coin, open: [], allAt: 0, recentAt: 0, failures: 0, failingSince: 0, trouble: undefined }
}

function newestOf({ open }: OpenCoin): EpochMinute | undefined {
  const last = open.at(-1)
  return last && last.end - 1
}

/** Removes the newest row of windows from a coin's open minutes. */
function shiftRow(coin: OpenCoin): Window {
  const newest = newestOf(coin) ?? 0
  const start = newest - (newest % ROW_MINUTES)
  const minutes = coin.open.flatMap(range => minutesOf({ ...range, start: Math.max(range.start, start) }))
  coin.open = before(coin.open, start)
  return { coin: coin.coin, minutes }
}

/** Minutes by the blocks of candles that decide them, from new to old. @param minutes ascending */
export function windowsOf(minutes: readonly EpochMinute[]): (readonly EpochMinute[])[] {
  const windows = new Map<number, EpochMinute[]>()
  for (const minute of minutes) {
    const block = Math.floor(minute / WINDOW_MINUTES)
    const window = windows.get(block)
    if (window === undefined) windows.set(block, [minute])
    else window.push(minute)
  }
  return [...windows.values()].reverse()
}

/** The parts of the ranges before a minute. */
function before(ranges: readonly MinuteRange[], minute: EpochMinute): MinuteRange[] {
  return ranges
    .filter(({ start }) => start < minute)
    .map(({ start, end }) => ({ start, end: Math.min(end, minute) }))
}

/** Every minute of a range, ascending; none where it ends before it starts. */
export function minutesOf({ start, end }: MinuteRange): EpochMinute[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset)
}

function countMinutes(ranges: readonly MinuteRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
}
