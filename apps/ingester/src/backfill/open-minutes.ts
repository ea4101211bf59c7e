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
import { BLOCK_MINUTES, CANDLE_GRACE_MS } from './candle-block-cache.ts'
import type { CoinMinutes } from './decide-minutes.ts'
import { before, windowsOf } from './windows.ts'

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

/** The minutes of a coin that are to be filled next. */
export interface OpenWindow extends CoinMinutes {
  readonly of: OpenCoin
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
  readonly retry: Retry
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

  /** Has Redis asked at once: a primary that answers now may lack what another one had stored. */
  noteReconnect(): void {
    for (const coin of this.#coins.values()) coin.readAt = Number.NEGATIVE_INFINITY
  }

  /** Keeps these coins, and forgets all others. */
  follow(coins: readonly Coin[]): void {
    const known = this.#coins
    this.#coins = new Map(coins.map(coin => [pairOf(coin), known.get(pairOf(coin)) ?? this.#begin(coin)]))
  }

  /**
   * The newest windows of at most `most` coins, each as soon as it is asked for; those that another ingester has decided
   * meanwhile are forgotten. The last minutes come first, then Binance's blocks from new to old, so that each block is
   * fetched once.
   */
  async *due(most: number): AsyncGenerator<OpenWindow, void, void> {
    await this.#read()
    let left = most
    for (const window of this.#newest()) {
      const { coin, minutes } = window
      const [first = 0] = minutes
      const open = await this.#readOpen(coin, first, (minutes.at(-1) ?? first) + 1)
      if (open.length === 0) {
        this.finish(window)
        continue
      }
      yield window
      left -= 1
      if (left === 0) return
    }
  }

  /** Forgets these minutes. Redis names again those that are still open. */
  finish({ of, minutes: [start = 0] }: OpenWindow): void {
    of.open = before(of.open, start)
    of.trouble = undefined
    of.retry.reset()
  }

  /** Leaves the coin alone for a while, longer after each failure. */
  fail({ coin: { symbol }, of }: OpenWindow, thrown: unknown): CoinTrouble {
    const waitsUntil = this.#clock.elapsed() + of.retry.delay()
    of.trouble = { symbol, reason: messageOf(thrown), failures: of.retry.failures, waitsUntil }
    return of.trouble
  }

  /** Where backfill's minutes end: the feeds may still sample this minute and later ones. */
  get #end(): EpochMinute {
    const now = this.#clock.now()
    const finished = Math.max(this.#finished, minuteOf(now - LEFT_TO_FEEDS_MS))
    return Math.min(minuteOf(now - CANDLE_GRACE_MS), finished) + 1
  }

  /** Reads from Redis the open minutes of each coin that is due. */
  async #read(): Promise<void> {
    const oldest = dayStart(minuteOf(this.#clock.now())) - this.#days * DAY_MINUTES
    for (const coin of this.#coins.values()) {
      const now = this.#clock.elapsed()
      if (now < coin.readAt) continue
      const end = this.#end
      const from = coin.reads % READS_OF_ALL === 0 ? oldest : Math.max(oldest, end - RECENT_MINUTES)
      // Set before Redis answers: a minute or a reconnect that is noted meanwhile is newer than the answer.
      coin.readAt = now + READ_EVERY_MS
      const open = await this.#readOpen(coin.coin, from, end).catch(thrown => {
        coin.readAt = now
        throw thrown
      })
      coin.open = [...before(coin.open, from), ...open]
      coin.reads += 1
    }
  }

  /** The newest window of each coin that does not wait, the most urgent first. */
  #newest(): OpenWindow[] {
    const now = this.#clock.elapsed()
    const urgent = minuteOf(this.#clock.now()) - URGENT_MINUTES
    const rankOf = ({ minutes }: CoinMinutes) => {
      const newest = minutes.at(-1) ?? 0
      return newest >= urgent ? Number.MAX_SAFE_INTEGER : Math.floor(newest / BLOCK_MINUTES.binance)
    }
    return [...this.#coins.values()]
      .sort((a, b) => a.rank - b.rank)
      .filter(({ open, trouble }) => open.length > 0 && now >= (trouble?.waitsUntil ?? 0))
      .map(of => {
        const [minutes = []] = windowsOf(of.open)
        return { coin: of.coin, minutes, of }
      })
      .sort((a, b) => rankOf(b) - rankOf(a))
  }

  #readOpen({ symbol, allowed }: Coin, from: EpochMinute, to: EpochMinute) {
    return this.#reader.readOpenMinutes(symbol, from, to, allowed)
  }

  #begin(coin: Coin): OpenCoin {
    const retry = new Retry(this.#context, COIN_RETRY)
    return { coin, rank: this.#context.random(), open: [], readAt: 0, reads: 0, retry, trouble: undefined }
  }
}
