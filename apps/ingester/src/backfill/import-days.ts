import { type Clock, type Coin, DAY_MINUTES, dateOf, dayStart, foldDays, minuteOf } from '@kimchi/core'
import type { MinuteRange, SampleReader, SampleWriter } from '@kimchi/store'
import { CandleCache, type FetchCandles } from './candle-cache.ts'
import { fillWindow } from './fill-window.ts'
import { countMinutes, minutesOf } from './ranges.ts'

/** Five days are exactly 36 full pages of Upbit candles. @see docs/exchanges.md#upbit-rest */
const CHUNK_DAYS = 5

/** What an import works with. */
export interface ImportOptions {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today to look at. */
  readonly days: number
  /** Days of which single samples are kept; they are not this import's. */
  readonly retentionDays: number
  readonly clock: Clock
  readonly reader: Pick<SampleReader, 'readDays'>
  readonly importDay: SampleWriter['importDay']
  readonly fetchCandles: FetchCandles
  /** Asked before each piece of work; false ends the import. */
  readonly mayGoOn: () => Promise<boolean>
  readonly onProgress: (progress: ImportProgress) => void
}

/** How far an import is, in days of one coin. */
export interface ImportProgress {
  readonly symbol: string
  readonly done: number
  readonly total: number
}

/**
 * Imports days older than the sample retention from candles, newest first, each as a whole. Days that are whole already are not fetched
 * again, so it may be stopped and started at any time. A coin ends where its exchanges have no more candles.
 */
export async function importDays(options: ImportOptions): Promise<void> {
  const { mayGoOn, onProgress } = options
  const work = await findWork(options)
  const total = countMinutes(work.map(({ window }) => window)) / DAY_MINUTES
  const ended = new Set<string>()
  const cache = new CandleCache(options.fetchCandles)
  let done = 0
  for (const { coin, window } of work) {
    if (!(await mayGoOn())) return
    if (!ended.has(coin.symbol) && !(await importWindow(coin, window, cache, options))) ended.add(coin.symbol)
    done += (window.end - window.start) / DAY_MINUTES
    onProgress({ symbol: coin.symbol, done, total })
  }
}

interface Work {
  readonly coin: Coin
  readonly window: MinuteRange
}

/** Windows of up to {@link CHUNK_DAYS} missing days, newest first over all coins. */
async function findWork({ coins, days, retentionDays, clock, reader }: ImportOptions): Promise<Work[]> {
  const today = dayStart(minuteOf(clock.now()))
  const newest = today - (retentionDays + 1) * DAY_MINUTES
  const oldest = today - days * DAY_MINUTES
  const work: Work[] = []
  for (const coin of coins) {
    const { entries } = await reader.readDays(coin.symbol)
    const whole = new Set(entries.filter(day => day.samples === DAY_MINUTES).map(day => day.date))
    let window: MinuteRange | undefined
    for (let start = newest; start >= oldest; start -= DAY_MINUTES) {
      if (whole.has(dateOf(start))) continue
      if (window?.start === start + DAY_MINUTES && window.end - start <= CHUNK_DAYS * DAY_MINUTES) {
        work.pop()
        window = { start, end: window.end }
      } else window = { start, end: start + DAY_MINUTES }
      work.push({ coin, window })
    }
  }
  return work.sort((a, b) => b.window.end - a.window.end)
}

/** @returns false when a full window held nothing: the coin was not listed yet */
async function importWindow(
  coin: Coin,
  window: MinuteRange,
  cache: CandleCache,
  { importDay }: ImportOptions,
): Promise<boolean> {
  const { samples } = await fillWindow(coin, minutesOf(window), window, cache)
  for (const day of foldDays(samples)) await importDay(coin.symbol, day)
  return samples.length > 0 || window.end - window.start < CHUNK_DAYS * DAY_MINUTES
}
