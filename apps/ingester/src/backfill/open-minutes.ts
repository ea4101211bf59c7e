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
import { pairOf } from '../coins/quarantine.ts'
import { BLOCK_MINUTES, CANDLE_GRACE_MS } from './candle-blocks.ts'
import { isRefusal } from './candle-requests.ts'
import type { CoinMinutes } from './decide-minutes.ts'

/** How often Redis is asked for a coin's open minutes: the last ones, and every fifth time the whole retention. */
const READ_EVERY_MS: Milliseconds = MINUTE_MS
const READS_OF_ALL = 5
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

/** What is known of one coin. Its instants are of the clock's elapsed time. */
interface OpenCoin {
  readonly coin: Coin
  /** Ascending. */
  open: readonly MinuteRange[]
  /** When it is read again, and from which minute on, unless the last minutes begin earlier; 0 for all. */
  readAt: Milliseconds
  readFrom: EpochMinute
  reads: number
  /** It is not filled until then. */
  waitsUntil: Milliseconds
  trouble: CoinTrouble | undefined
}

/** The coins' open minutes, as Redis named them last, and which to fill next. */
export class OpenMinutes {
  readonly #reader: Pick<SampleReader, 'readOpenMinutes'>
  readonly #days: number
  readonly #clock: Clock
  #coins: ReadonlyMap<string, OpenCoin> = new Map()
  /** At first the minute of the start: no feed of this process has sampled it. */
  #finished: FinishedMinute

  /** @param days whole UTC days before today that are filled */
  constructor(reader: Pick<SampleReader, 'readOpenMinutes'>, days: number, clock: Clock) {
    this.#reader = reader
    this.#days = days
    this.#clock = clock
    this.#finished = { minute: minuteOf(clock.now()), waiting: [] }
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
    const completeInMs = minuteStart(finished.minute) + CANDLE_GRACE_MS - this.#clock.now()
    const readableAt = this.#clock.elapsed() + completeInMs
    for (const coin of this.#coins.values()) coin.readAt = Math.min(coin.readAt, readableAt)
  }

  /** Keeps these coins, and forgets all others. */
  follow(coins: readonly Coin[]): void {
    const known = this.#coins
    this.#coins = new Map(coins.map(coin => [pairOf(coin), known.get(pairOf(coin)) ?? newOpenCoin(coin)]))
  }

  /** Reads what is due. */
  async read(): Promise<void> {
    const oldest = dayStart(minuteOf(this.#clock.now())) - this.#days * DAY_MINUTES
    for (const coin of this.#coins.values()) {
      const { symbol } = coin.coin
      const now = this.#clock.elapsed()
      if (now < coin.readAt) continue
      const end = this.#endOf(symbol)
      const from = Math.max(oldest, Math.min(end - RECENT_MINUTES, coin.readFrom))
      const open = await this.#reader.readOpenMinutes(symbol, from, end)
      coin.open = [...before(coin.open, from), ...open]
      coin.reads += 1
      coin.readFrom = coin.reads % READS_OF_ALL === 0 ? 0 : end
      coin.readAt = now + READ_EVERY_MS
    }
  }

  /**
   * The newest window of so many coins at most: those of the last minutes first, then by Binance's blocks, so
   * that each block is fetched once.
   */
  next(most: number): CoinMinutes[] {
    const now = this.#clock.elapsed()
    const urgent = minuteOf(this.#clock.now()) - URGENT_MINUTES
    const rankOf = (coin: OpenCoin) => {
      const newest = newestOf(coin)
      return newest >= urgent ? Number.MAX_SAFE_INTEGER : Math.floor(newest / BLOCK_MINUTES.binance)
    }
    return [...this.#coins.values()]
      .filter(({ open, waitsUntil }) => open.length > 0 && now >= waitsUntil)
      .sort((a, b) => rankOf(b) - rankOf(a))
      .slice(0, most)
      .map(newestWindow)
  }

  /**
   * Forgets these minutes: they are decided, or stay open until Redis names them again.
   * @param leftOpen those of them that another answer, a minute later, may decide
   */
  finish({ coin: finished, minutes: [start = 0] }: CoinMinutes, leftOpen: readonly EpochMinute[]): void {
    const coin = this.#coins.get(pairOf(finished))
    if (coin === undefined) return
    coin.open = before(coin.open, start)
    coin.readFrom = Math.min(coin.readFrom, ...leftOpen)
    coin.trouble = undefined
  }

  /** The coin is left alone for a while. */
  fail(failed: Coin, thrown: unknown): CoinTrouble | undefined {
    const coin = this.#coins.get(pairOf(failed))
    if (coin === undefined) return undefined
    const failures = (coin.trouble?.failures ?? 0) + 1
    const firstMs = isRefusal(thrown) ? RETRY_REFUSED_MS : RETRY_MS
    const waitMs = Math.min(firstMs * 2 ** (failures - 1), HOUR_MS)
    const [reason, retryAt] = [messageOf(thrown), this.#clock.now() + waitMs]
    coin.trouble = { symbol: failed.symbol, reason, retryAt, failures }
    coin.waitsUntil = this.#clock.elapsed() + waitMs
    return coin.trouble
  }

  /** The feeds may still sample minutes from this one on. */
  #endOf(symbol: string): EpochMinute {
    const now = this.#clock.now()
    const { minute, waiting } = this.#finished
    const finished = waiting.includes(symbol) ? minute - 1 : minute
    return Math.min(minuteOf(now - CANDLE_GRACE_MS), Math.max(finished, minuteOf(now - LEFT_TO_FEEDS_MS))) + 1
  }
}

function newOpenCoin(coin: Coin): OpenCoin {
  return { coin, open: [], readAt: 0, readFrom: 0, reads: 0, waitsUntil: 0, trouble: undefined }
}

function newestOf({ open }: OpenCoin): EpochMinute {
  return (open.at(-1)?.end ?? 0) - 1
}

/** The minutes that its newest block of Upbit decides, which lies within one of Binance. */
function newestWindow(due: OpenCoin): CoinMinutes {
  const start = newestOf(due) - (newestOf(due) % BLOCK_MINUTES.upbit)
  const ranges = due.open.map(range => ({ ...range, start: Math.max(range.start, start) }))
  return { coin: due.coin, minutes: ranges.flatMap(minutesOf) }
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
