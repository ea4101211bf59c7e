import {
  type Coin,
  DAY_MINUTES,
  type EpochMinute,
  type EpochMs,
  HOUR_MS,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'
import { PAGE_MINUTES } from './candle-book.ts'
import { isRefusal } from './candle-requests.ts'
import { intersectRanges, joinRanges, minutesOf, rangesOf, subtractRanges } from './ranges.ts'

/** A coin whose candles fail for no clear reason is tried again soon at first, … */
const FIRST_RETRIES_MS: readonly Milliseconds[] = [5_000, 20_000, 60_000]

/** … one that is refused, or goes on failing, this often in its first hour, … */
const RETRY_MS: Milliseconds = 120_000

/** … and then when a sixth of the time has passed for which it has been failing, an hour at most. */
const LATER_SHARE = 6
const RAREST_RETRY_MS: Milliseconds = HOUR_MS

/** How long a minute waits in which an exchange seems to have been down, before it is believed. */
export const DEFER_MS: Milliseconds = 600_000

/** Why a coin waits. */
export interface CoinTrouble {
  readonly symbol: string
  readonly reason: string
  readonly retryAt: EpochMs
}

/**
 * What backfill has to do for one coin: its holes, newest first, and when it may be asked for. No clock of
 * its own.
 */
export interface CoinWork {
  readonly coin: Coin
  /** Missing minutes that are known, ascending. */
  readonly holes: readonly MinuteRange[]
  readonly trouble: CoinTrouble | undefined
  /** Takes over what is missing in Redis within `window`; decided minutes are no holes. */
  look(window: MinuteRange, missing: readonly MinuteRange[], now: EpochMs): void
  /** These minutes are not to be asked for again. */
  settle(minutes: Iterable<EpochMinute>): void
  /** These minutes are left alone for a while: an exchange may not have their candles yet. */
  defer(minutes: Iterable<EpochMinute>, now: EpochMs): void
  /** Takes minutes off the holes; the next look finds them again if they are still missing. */
  take(minutes: readonly EpochMinute[]): void
  /**
   * The minutes to decide next, ascending, within one page of candles; empty when there is nothing to do now.
   * @param newest the newest minute whose candles are complete
   */
  next(now: EpochMs, newest: EpochMinute): readonly EpochMinute[]
  /** Gives back minutes that could not be decided. */
  putBack(minutes: readonly EpochMinute[]): void
  fail(thrown: unknown, now: EpochMs): void
  succeed(): void
}

/** A {@link CoinWork} that knows no holes yet. */
export function createCoinWork(coin: Coin): CoinWork {
  return new HolesOfCoin(coin)
}

/**
 * Which of two coins comes first: holes of the last minutes before all others, then the newer day.
 * @param recentFrom the oldest minute that counts as recent
 */
export function compareWork(a: EpochMinute, b: EpochMinute, recentFrom: EpochMinute): number {
  return rankOf(b, recentFrom) - rankOf(a, recentFrom)
}

function rankOf(newest: EpochMinute, recentFrom: EpochMinute): number {
  return newest >= recentFrom ? Number.MAX_SAFE_INTEGER : Math.floor(newest / DAY_MINUTES)
}

class HolesOfCoin implements CoinWork {
  readonly coin: Coin
  #holes: readonly MinuteRange[] = []
  #settled: readonly MinuteRange[] = []
  #deferred: readonly MinuteRange[] = []
  #deferredUntil: EpochMs = 0
  #failingSince: EpochMs = 0
  #failures = 0
  #trouble: CoinTrouble | undefined

  constructor(coin: Coin) {
    this.coin = coin
  }

  get holes(): readonly MinuteRange[] {
    return this.#holes
  }

  get trouble(): CoinTrouble | undefined {
    return this.#trouble
  }

  look(window: MinuteRange, missing: readonly MinuteRange[], now: EpochMs): void {
    const deferred = now < this.#deferredUntil ? this.#deferred : []
    const found = subtractRanges(
      intersectRanges(missing, window),
      joinRanges([...this.#settled, ...deferred]),
    )
    this.#holes = joinRanges([...subtractRanges(this.#holes, [window]), ...found])
  }

  settle(minutes: Iterable<EpochMinute>): void {
    this.#settled = joinRanges([...this.#settled, ...rangesOf(minutes)])
  }

  defer(minutes: Iterable<EpochMinute>, now: EpochMs): void {
    // Minutes that join others wait no longer than those, so that one page brings them all.
    if (now >= this.#deferredUntil) {
      this.#deferred = []
      this.#deferredUntil = now + DEFER_MS
    }
    this.#deferred = joinRanges([...this.#deferred, ...rangesOf(minutes)])
  }

  take(minutes: readonly EpochMinute[]): void {
    this.#holes = subtractRanges(this.#holes, rangesOf(minutes))
  }

  next(now: EpochMs, newest: EpochMinute): readonly EpochMinute[] {
    if (now < (this.#trouble?.retryAt ?? 0)) return []
    const ripe = intersectRanges(this.#holes, { start: Number.NEGATIVE_INFINITY, end: newest + 1 })
    const end = ripe.at(-1)?.end ?? 0
    return intersectRanges(ripe, { start: end - PAGE_MINUTES.upbit, end }).flatMap(minutesOf)
  }

  putBack(minutes: readonly EpochMinute[]): void {
    this.#holes = joinRanges([...this.#holes, ...rangesOf(minutes)])
  }

  fail(thrown: unknown, now: EpochMs): void {
    if (this.#failures === 0) this.#failingSince = now
    const first = isRefusal(thrown) ? undefined : FIRST_RETRIES_MS[this.#failures]
    this.#failures += 1
    const share = (now - this.#failingSince) / LATER_SHARE
    const later = now - this.#failingSince < HOUR_MS ? RETRY_MS : Math.min(share, RAREST_RETRY_MS)
    this.#trouble = {
      symbol: this.coin.symbol,
      reason: messageOf(thrown),
      retryAt: now + (first ?? later),
    }
  }

  succeed(): void {
    this.#failures = 0
    this.#trouble = undefined
  }
}
