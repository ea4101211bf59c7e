import {
  type Clock,
  type Coin,
  type Context,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  HOUR_MS,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
  minuteOf,
  minuteStart,
} from '@kimchi/core'
import { Retry } from '@kimchi/feeds'
import type { MinuteRange, SampleReader } from '@kimchi/store'
import { pairOf } from '../coins/quarantine.ts'
import type { CoinMinutes } from './candle-block.ts'
import { BLOCK_MINUTES, CANDLE_GRACE_MS } from './candle-block-cache.ts'

/** How often Redis names a coin's open minutes: those of the last 15, and every fifth time those of all days. */
const READ_EVERY_MS: Milliseconds = MINUTE_MS
const READS_OF_ALL = 5
const RECENT_MINUTES = 15

/** A minute that the minute loop has not reported is left to the feeds for this long. */
const LEFT_TO_FEEDS_MS: Milliseconds = 180_000

/** Open minutes that are no older than this come before all others. */
const URGENT_MINUTES = 10

/** A coin whose candles can't be fetched waits about this long, twice as long each time, at most an hour. */
const COIN_RETRY = { firstMs: 10_000, capMs: HOUR_MS }

export interface CoinTrouble {
  readonly symbol: string
  readonly reason: string
  /** How many fetches have failed in a row. */
  readonly failures: number
  /** Nothing of the coin is fetched until then, by the clock's elapsed time. */
  readonly waitsUntil: Milliseconds
}

/** The minutes of a coin that are to be filled next: its newest ones, within one block of each exchange. */
export interface OpenWindow extends CoinMinutes {
  readonly of: OpenCoin
  /** Why the previous fetch failed; undefined if it did not. */
  readonly trouble: CoinTrouble | undefined
}

/** One coin and its open minutes. Its instants are of the clock's elapsed time. */
interface OpenCoin {
  readonly coin: Coin
  /** Among equally urgent coins the lowest comes first. By chance, so that several ingesters begin elsewhere. */
  readonly rank: number
  /** Ascending. */
  open: readonly MinuteRange[]
  /** When Redis is asked next for its open minutes. */
  readAt: Milliseconds
  reads: number
  isTracked: boolean
  trouble: CoinTrouble | undefined
}

/** The coins' open minutes, as Redis named them last, and which to fill next. */
export class OpenMinutes {
  readonly #reader: Pick<SampleReader, 'readOpenMinutes'>
  readonly #days: number
  readonly #clock: Clock
  readonly #context: Context
  #coins: ReadonlyMap<string, OpenCoin> = new Map()
  /** The last one reported. At first the minute of the start, since no feed of this process has sampled it. */
  #finished: EpochMinute

  /** @param days whole UTC days before today that are filled */
  constructor(reader: Pick<SampleReader, 'readOpenMinutes'>, days: number, context: Context) {
    this.#reader = reader
    this.#days = days
    this.#clock = context.clock
    this.#context = context
    this.#finished = minuteOf(context.clock.now())
  }

  /** Known open minutes, counted per coin and minute. */
  get count(): number {
    const ranges = [...this.#coins.values()].flatMap(({ open }) => open)
    return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
  }

  get troubled(): readonly CoinTrouble[] {
    return [...this.#coins.values()].flatMap(({ trouble }) => trouble ?? [])
  }

  /** Lets the gaps of a finished minute be read as soon as their candles are complete. */
  noteMinute(minute: EpochMinute): void {
    this.#finished = minute
    const completeInMs = minuteStart(minute) + CANDLE_GRACE_MS - this.#clock.now()
    const readableAt = this.#clock.elapsed() + completeInMs
    for (const coin of this.#coins.values()) coin.readAt = Math.min(coin.readAt, readableAt)
  }

  /** Has Redis name all open minutes again: it may lack what was stored, or was to be. */
  readAgain(): void {
    for (const coin of this.#coins.values()) readAgain(coin)
  }

  /** Keeps these coins, and forgets all others. */
  follow(coins: readonly Coin[]): void {
    const known = this.#coins
    for (const coin of known.values()) coin.isTracked = false
    this.#coins = new Map(coins.map(coin => [pairOf(coin), known.get(pairOf(coin)) ?? this.#begin(coin)]))
    for (const coin of this.#coins.values()) coin.isTracked = true
  }

  /**
   * The newest windows of at most `most` coins, each as soon as it is asked for, and as Redis names it then: what another
   * ingester has decided meanwhile is not open. The last minutes come first, then Binance's blocks from new to old, so
   * that each block is fetched once. What is handed out stays known until it is finished.
   */
  async *due(most: number): AsyncGenerator<OpenWindow, void, void> {
    const given = new Set<OpenCoin>()
    for (let of = this.#mostUrgent(given); of && given.size < most; of = this.#mostUrgent(given)) {
      const from = await this.#read(of)
      const start = Math.max(from, newestWindow(of.open)[0])
      const minutes = of.open.flatMap(range => minutesOf(range, start))
      // Fewer of its minutes may be open than were known.
      if (minutes.length === 0 || of !== this.#mostUrgent(given)) continue
      given.add(of)
      const { coin, trouble } = of
      yield { coin, minutes, of, trouble }
    }
  }

  /** Forgets these minutes. Redis names again those that are still open. */
  finish({ of, minutes: [start = 0] }: OpenWindow): void {
    of.open = before(of.open, start)
    of.trouble = undefined
  }

  /** Leaves the coin alone for a while, longer after each failure. */
  fail({ coin: { symbol }, of, trouble }: OpenWindow, thrown: unknown): CoinTrouble {
    const retry = new Retry(this.#context, COIN_RETRY)
    retry.failures = trouble?.failures ?? 0
    const waitsUntil = this.#clock.elapsed() + retry.delay()
    of.trouble = { symbol, reason: messageOf(thrown), failures: retry.failures, waitsUntil }
    return of.trouble
  }

  /** Where backfill's minutes end: the feeds may still sample this minute and later ones. */
  get #end(): EpochMinute {
    const now = this.#clock.now()
    const finished = Math.max(this.#finished, minuteOf(now - LEFT_TO_FEEDS_MS))
    return Math.min(minuteOf(now - CANDLE_GRACE_MS), finished) + 1
  }

  /**
   * Reads from Redis the open minutes of a coin: those that are due, or those of its newest window.
   * @returns from which minute on
   */
  async #read(of: OpenCoin): Promise<EpochMinute> {
    const now = this.#clock.elapsed()
    const isDue = now >= of.readAt
    const [from, end] = isDue ? this.#dueRange(of) : newestWindow(of.open)
    // Set before Redis answers: a minute or a reconnect that is noted meanwhile is newer than the answer.
    if (isDue) Object.assign(of, { readAt: now + READ_EVERY_MS, reads: of.reads + 1 })
    const { symbol, allowed } = of.coin
    const open = await this.#reader.readOpenMinutes(symbol, from, end, allowed).catch(thrown => {
      readAgain(of)
      throw thrown
    })
    of.open = [...before(of.open, from), ...open]
    return from
  }

  /** The recent minutes, and every so often those of all days. */
  #dueRange({ reads }: OpenCoin): [from: EpochMinute, end: EpochMinute] {
    const oldest = dayStart(minuteOf(this.#clock.now())) - this.#days * DAY_MINUTES
    const end = this.#end
    return [reads % READS_OF_ALL === 0 ? oldest : Math.max(oldest, end - RECENT_MINUTES), end]
  }

  /** The coin to fill next, but for these. One that is due to be read may have the newest minutes open. */
  #mostUrgent(given: ReadonlySet<OpenCoin>): OpenCoin | undefined {
    const now = this.#clock.elapsed()
    const urgent = minuteOf(this.#clock.now()) - URGENT_MINUTES
    const urgencyOf = ({ open, readAt, trouble }: OpenCoin) => {
      if (now >= readAt) return Number.MAX_SAFE_INTEGER
      if (open.length === 0 || now < (trouble?.waitsUntil ?? 0)) return 0
      const newest = (open.at(-1)?.end ?? 0) - 1
      return newest >= urgent ? Number.MAX_SAFE_INTEGER : Math.floor(newest / BLOCK_MINUTES.binance)
    }
    return [...this.#coins.values()]
      .filter(coin => !given.has(coin) && urgencyOf(coin) > 0)
      .sort((a, b) => urgencyOf(b) - urgencyOf(a) || a.rank - b.rank)[0]
  }

  #begin(coin: Coin): OpenCoin {
    const rank = this.#context.random()
    return { coin, rank, open: [], readAt: 0, reads: 0, isTracked: true, trouble: undefined }
  }
}

function readAgain(coin: OpenCoin): void {
  Object.assign(coin, { readAt: Number.NEGATIVE_INFINITY, reads: 0 })
}

/** From where to where the newest of these minutes lie in one block of Upbit, which lies in one of Binance. */
function newestWindow(ranges: readonly MinuteRange[]): [from: EpochMinute, end: EpochMinute] {
  const end = ranges.at(-1)?.end ?? 0
  const newest = end - 1
  return [Math.max(ranges[0]?.start ?? 0, newest - (newest % BLOCK_MINUTES.upbit)), end]
}

/** The parts of the ranges before a minute. */
function before(ranges: readonly MinuteRange[], minute: EpochMinute): readonly MinuteRange[] {
  return ranges
    .filter(({ start }) => start < minute)
    .map(({ start, end }) => ({ start, end: Math.min(end, minute) }))
}

/** The minutes of a range from one on, ascending. */
function minutesOf({ start, end }: MinuteRange, from: EpochMinute): EpochMinute[] {
  const first = Math.max(start, from)
  return Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset)
}
