import {
  type Clock,
  type Coin,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  minuteOf,
  type Sample,
} from '@kimchi/core'
import type { Logger } from '@kimchi/runtime'
import type { MinuteRange } from '@kimchi/store'
import { CandleCache, type FetchCandles } from './candle-cache.ts'
import { fillWindow } from './fill-window.ts'
import { countMinutes, subtractRanges, windowsOf } from './ranges.ts'

/** One page of Binance candles, five of Upbit's: both are used to the full. @see exchange-protocols §2, §4 */
const WINDOW_MINUTES = 1_000

/** The newest minutes are left to the live feeds. */
const LIVE_MINUTES = 5

/** How long after its minute a candle can be trusted to be complete. */
const CANDLE_GRACE_MS = 3_000

/** What a pass of backfill works with. */
export interface BackfillOptions {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today that are looked at. */
  readonly days: number
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly readMissing: (symbol: string, range: MinuteRange) => Promise<readonly MinuteRange[]>
  readonly fetchCandles: FetchCandles
  readonly write: (samples: readonly Sample[]) => Promise<void>
  /** Minutes that candles could not fill, by coin; they are not asked for again. Kept between passes. */
  readonly settled: Map<string, MinuteRange[]>
  readonly onProgress: (progress: BackfillProgress) => void
  readonly log: Logger
}

/** How far a pass is. */
export interface BackfillProgress {
  readonly symbol: string
  /** Missing minutes decided so far, of all coins. */
  readonly done: number
  readonly total: number
  readonly samples: number
  readonly gaps: number
}

/**
 * The newest complete minute of every coin, from candles: a fresh install answers seconds after its start instead of at the next
 * minute turn.
 */
export async function fillNewestMinute(options: BackfillOptions): Promise<void> {
  const minute = minuteOf(options.clock.now() - CANDLE_GRACE_MS)
  const cache = new CandleCache(options.fetchCandles)
  for (const coin of options.coins) {
    if (options.signal.aborted) return
    const { samples } = await fillWindow(coin, [minute], { start: minute, end: minute + 1 }, cache)
    if (samples.length > 0) await options.write(samples)
  }
}

/** One pass over all missing minutes, newest first and coin by coin, so that every coin's recent past comes before any old one. */
export async function fillMissing(options: BackfillOptions): Promise<void> {
  const { coins, clock, days, signal, settled } = options
  const newest = minuteOf(clock.now() - CANDLE_GRACE_MS) - LIVE_MINUTES
  const range = { start: dayStart(newest) - days * DAY_MINUTES, end: newest + 1 }
  const work: { coin: Coin; window: MinuteRange; missing: readonly MinuteRange[] }[] = []
  for (const coin of coins) {
    const known = settled.get(coin.symbol) ?? []
    const missing = (await options.readMissing(coin.symbol, range)).flatMap(part =>
      subtractRanges(part, known),
    )
    for (const window of windowsOf(missing, WINDOW_MINUTES)) work.push({ coin, window, missing })
  }
  work.sort((a, b) => b.window.end - a.window.end)
  const progress = { done: 0, samples: 0, gaps: 0, total: 0 }
  for (const { window, missing } of work) progress.total += countMinutes(within(missing, window))
  const cache = new CandleCache(options.fetchCandles)
  for (const { coin, window, missing } of work) {
    if (signal.aborted) return
    const wanted = within(missing, window)
    const minutes = wanted.flatMap(minutesOf)
    const { samples, gaps } = await fillWindow(coin, minutes, window, cache)
    await options.write(samples)
    settle(
      settled,
      coin.symbol,
      gaps.map(gap => gap.minute),
    )
    progress.done += minutes.length
    progress.samples += samples.length
    progress.gaps += gaps.length
    options.onProgress({ symbol: coin.symbol, ...progress })
  }
}

function within(ranges: readonly MinuteRange[], { start, end }: MinuteRange): MinuteRange[] {
  return ranges
    .map(range => ({ start: Math.max(range.start, start), end: Math.min(range.end, end) }))
    .filter(range => range.start < range.end)
}

function minutesOf({ start, end }: MinuteRange): EpochMinute[] {
  return Array.from({ length: end - start }, (_, offset) => start + offset)
}

function settle(settled: Map<string, MinuteRange[]>, symbol: string, minutes: readonly EpochMinute[]): void {
  const known = settled.get(symbol) ?? []
  for (const minute of minutes) {
    const last = known.at(-1)
    if (last?.end === minute) known[known.length - 1] = { start: last.start, end: minute + 1 }
    else known.push({ start: minute, end: minute + 1 })
  }
  settled.set(symbol, known)
}
