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
import { BINANCE_BLOCK_MINUTES, CANDLE_GRACE_MS, DOUBTED_MS, WINDOW_MINUTES } from './candle-blocks.ts'
import { isRefusal } from './candle-requests.ts'
import type { CoinMinutes } from './decide-minutes.ts'

/** How often Redis is asked for open minutes: of the whole retention, and of the last minutes. */
const READ_EVERY_MS: Milliseconds = 300_000
const READ_RECENT_EVERY_MS: Milliseconds = MINUTE_MS
const RECENT_MINUTES = 15

/** A minute that the minute loop has not reported is left to the feeds for this long. */
const LEFT_TO_FEEDS_MS: Milliseconds = 180_000

/** Open minutes that are no older than this come before all others. */
const URGENT_MINUTES = 10

/** A coin whose candles can't be fetched waits this long, twice as long each time, at most an hour. */
const RETRY_MS: Milliseconds = 5_000
const RETRY_REFUSED_MS: Milliseconds = 120_000

/** Why a coin waits. */
export interface CoinTrouble {
  readonly symbol: string
  readonly reason: string
  readonly retryAt: EpochMs
  /** In a row. */
  readonly failures: number
}

/** A minute that the minute loop has finished: each coin has a sample or a gap, or waits. */
export interface FinishedMinute {
  readonly minute: EpochMinute
  /** Coins whose sample waits for the next minute to agree with it. */
  readonly waiting: readonly string[]
  /** Whether the exchanges' frames show that our clock is wrong. @default false */
  readonly isClockWrong?: boolean
}

export interface OpenMinutesOptions {
  readonly reader: Pick<SampleReader, 'readOpenMinutes'>
  /** Whole UTC days before today that are filled. */
  readonly days: number
  readonly clock: Clock
}

/** The coins' open minutes, as Redis named them last, and which to fill next. */
export class OpenMinutes {
  readonly #options: OpenMinutesOptions
  readonly #coins = new Map<string, OpenCoin>()
  /** At first the minute of the start: no feed of this process has sampled it. */
  #finished: FinishedMinute

  constructor(options: OpenMinutesOptions) {
    this.#options = options
    this.#finished = { minute: minuteOf(options.clock.now()), waiting: [] }
  }

  /** Known open minutes, counted per coin and minute. */
  get count(): number {
    const ranges = [...this.#coins.values()].flatMap(({ open }) => open)
    return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
  }

  get waiting(): readonly CoinTrouble[] {
    return [...this.#coins.values()].flatMap(({ trouble }) => trouble ?? [])
  }

  /** The minute's gaps are read as soon as their candles are complete. */
  noteMinute(finished: FinishedMinute): void {
    this.#finished = finished
    const readableAt = minuteStart(finished.minute) + CANDLE_GRACE_MS
    for (const coin of this.#coins.values()) coin.recentAt = Math.min(coin.recentAt, readableAt)
  }

  /** Keeps these coins, and forgets all others. */
  follow(coins: readonly Coin[]): void {
    const before = new Map(this.#coins)
    this.#coins.clear()
    for (const coin of coins) {
      const known = before.get(coin.symbol)
      const isSame = known?.coin.upbit === coin.upbit && known.coin.binance === coin.binance
      this.#coins.set(coin.symbol, known !== undefined && isSame ? known : newOpenCoin(coin))
    }
  }

  /** Reads what is due. @param isBusy coins whose minutes are being filled are left for later */
  async read(isBusy: (symbol: string) => boolean): Promise<void> {
    const { clock, days } = this.#options
    for (const coin of this.#coins.values()) {
      const now = clock.now()
      // The clock may have stepped back.
      coin.recentAt = Math.min(coin.recentAt, now + READ_RECENT_EVERY_MS)
      coin.allAt = Math.min(coin.allAt, now + HOUR_MS)
      if (isBusy(coin.coin.symbol) || now < Math.min(coin.allAt, coin.recentAt)) continue
      const end = this.#endOf(coin.coin.symbol)
      const isAll = now >= coin.allAt
      await this.#readFrom(
        coin,
        isAll ? dayStart(minuteOf(now)) - days * DAY_MINUTES : end - RECENT_MINUTES,
        end,
      )
      if (isAll) coin.allAt = now + READ_EVERY_MS
      coin.recentAt = now + READ_RECENT_EVERY_MS
    }
  }

  /** The newest minutes of a coin within one block of Binance: those of the last minutes first, then by day. */
  next(isBusy: (symbol: string) => boolean): CoinMinutes | undefined {
    const now = this.#options.clock.now()
    const urgent = minuteOf(now) - URGENT_MINUTES
    let next: OpenCoin | undefined
    let highest = Number.NEGATIVE_INFINITY
    for (const coin of this.#coins.values()) {
      const waitMs = (coin.trouble?.retryAt ?? now) - now
      // Longer than the longest wait: the clock has stepped back.
      const isWaiting = waitMs > 0 && waitMs <= HOUR_MS
      if (isWaiting || isBusy(coin.coin.symbol)) continue
      const newest = newestOf(coin)
      const rank = newest >= urgent ? Number.POSITIVE_INFINITY : Math.floor(newest / DAY_MINUTES)
      if (rank > highest) [next, highest] = [coin, rank]
    }
    if (next === undefined) return undefined
    const start = newestOf(next) - (newestOf(next) % BINANCE_BLOCK_MINUTES)
    const ranges = next.open.map(range => ({ ...range, start: Math.max(range.start, start) }))
    return { coin: next.coin, minutes: ranges.flatMap(minutesOf) }
  }

  /**
   * Forgets these minutes: they are decided, or stay open until Redis names them again.
   * @param doubted those of them that another answer, a minute later, may decide
   */
  finish({ coin: { symbol }, minutes: [start = 0] }: CoinMinutes, doubted: readonly EpochMinute[]): void {
    const coin = this.#coins.get(symbol)
    if (coin === undefined) return
    const now = this.#options.clock.now()
    coin.open = before(coin.open, start)
    coin.trouble = undefined
    const isOld = (minute: EpochMinute) => minute < minuteOf(now) - RECENT_MINUTES
    if (doubted.some(isOld)) coin.allAt = Math.min(coin.allAt, now + DOUBTED_MS)
  }

  /** The coin is left alone for a while; then all of its open minutes are read again. */
  fail(symbol: string, thrown: unknown): CoinTrouble | undefined {
    const coin = this.#coins.get(symbol)
    if (coin === undefined) return undefined
    const now = this.#options.clock.now()
    const { failures = 0 } = coin.trouble ?? {}
    const firstMs = isRefusal(thrown) ? RETRY_REFUSED_MS : RETRY_MS
    coin.allAt = now + Math.min(firstMs * 2 ** failures, HOUR_MS)
    coin.trouble = { symbol, reason: messageOf(thrown), retryAt: coin.allAt, failures: failures + 1 }
    return coin.trouble
  }

  /** The feeds may still sample minutes from this one on. */
  #endOf(symbol: string): EpochMinute {
    const now = this.#options.clock.now()
    const { minute, waiting } = this.#finished
    const finished = waiting.includes(symbol) ? minute - 1 : minute
    return Math.min(minuteOf(now - CANDLE_GRACE_MS), Math.max(finished, minuteOf(now - LEFT_TO_FEEDS_MS))) + 1
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
  /** When the whole retention, and when the last minutes are read again. */
  allAt: EpochMs
  recentAt: EpochMs
  trouble: CoinTrouble | undefined
}

function newOpenCoin(coin: Coin): OpenCoin {
  return { coin, open: [], allAt: 0, recentAt: 0, trouble: undefined }
}

function newestOf({ open }: OpenCoin): EpochMinute {
  return (open.at(-1)?.end ?? Number.NEGATIVE_INFINITY) - 1
}

/** Minutes by the blocks of candles that decide them, from new to old. @param minutes ascending */
export function windowsOf(minutes: readonly EpochMinute[]): (readonly EpochMinute[])[] {
  const windows: EpochMinute[][] = []
  for (const minute of minutes) {
    const [window] = windows
    const isSame =
      window && Math.floor((window[0] ?? 0) / WINDOW_MINUTES) === Math.floor(minute / WINDOW_MINUTES)
    if (isSame) window.push(minute)
    else windows.unshift([minute])
  }
  return windows
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
