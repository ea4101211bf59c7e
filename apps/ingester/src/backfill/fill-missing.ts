import {
  type Clock,
  type Coin,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  formatTimestamp,
  KimchiError,
  minuteOf,
  REFERENCE_MARKETS,
  type Sample,
} from '@kimchi/core'
import type { MinuteRange, SampleBatch, SampleReader } from '@kimchi/store'
import { CandleCache, type FetchCandles } from './candle-cache.ts'
import { fillWindow } from './fill-window.ts'
import { countMinutes, intersectRanges, joinRanges, minutesOf, subtractRanges, windowsOf } from './ranges.ts'

/** One page of Binance candles, five of Upbit's: both are used to the full. */
const WINDOW_MINUTES = 1_000

/** The newest minutes are left to the live feeds. */
export const LIVE_MINUTES = 5

/** How long after its minute a candle can be trusted to be complete. */
const CANDLE_GRACE_MS = 3_000

/** What filling works with. */
export interface FillOptions {
  readonly coins: readonly Coin[]
  /** The newest minute whose candles are complete, of {@link findNewestMinute}. */
  readonly newest: EpochMinute
  readonly reader: Pick<SampleReader, 'readMissing'>
  readonly fetchCandles: FetchCandles
  readonly write: (samples: readonly Sample[]) => Promise<void>
  /** Asked before each piece of work; false ends the pass. */
  readonly mayGoOn: () => Promise<boolean>
}

/** How far a pass over all missing minutes is. */
export interface FillProgress {
  readonly symbol: string
  /** Missing minutes decided so far, of all coins; `total` is how many there are. */
  readonly done: number
  readonly total: number
  readonly samples: number
  readonly gaps: number
}

/** More of a pass over all missing minutes. */
export interface FillMissingOptions extends FillOptions {
  /** Whole UTC days before today that are looked at. */
  readonly days: number
  /** Minutes that candles could not fill, by coin; they are not asked for again. Kept between passes. */
  readonly settled: Map<string, readonly MinuteRange[]>
  readonly onProgress: (progress: FillProgress) => void
}

/**
 * The newest minute whose candles are complete by the exchange's own word: Binance has opened the next candle of the market that always
 * trades. A machine whose clock is ahead must neither take an open candle for a whole one nor settle minutes that are yet to come.
 * @throws KimchiError `KIMCHI_ERR_REST` when Binance has no candle near the present by our clock
 */
export async function findNewestMinute(clock: Clock, fetchCandles: FetchCandles): Promise<EpochMinute> {
  const ours = minuteOf(clock.now() - CANDLE_GRACE_MS)
  const [reference = ''] = REFERENCE_MARKETS.binance
  const range = { start: ours - WINDOW_MINUTES + 1, end: ours + 1 }
  const open = (await fetchCandles('binance', reference, range)).at(-1)?.[0]
  if (open === undefined) {
    const message = `binance has no ${reference} candle in the ${WINDOW_MINUTES} minutes before ${formatTimestamp(ours)}; is this machine's clock right?`
    throw new KimchiError('KIMCHI_ERR_REST', message)
  }
  return open >= ours ? ours : open - 1
}

/** Samples of many minutes as one write; readers are told the newest minute. */
export function batchOf(samples: readonly Sample[]): SampleBatch {
  return { minute: Math.max(0, ...samples.map(({ minute }) => minute)), samples }
}

/**
 * The newest complete minute of every coin that has no sample for it, so that a fresh install answers seconds after its start instead
 * of at the next minute turn.
 */
export async function fillNewestMinute({
  coins,
  newest: minute,
  reader,
  fetchCandles,
  write,
  mayGoOn,
}: FillOptions): Promise<void> {
  const window = { start: minute, end: minute + 1 }
  const cache = new CandleCache(fetchCandles)
  const found: Sample[] = []
  for (const coin of coins) {
    const missing = await reader.readMissing(coin.symbol, minute, minute + 1)
    if (missing.length === 0) continue
    if (!(await mayGoOn())) break
    found.push(...(await fillWindow(coin, [minute], window, cache)).samples)
  }
  if (found.length > 0) await write(found)
}

/**
 * One pass over all missing minutes, newest first over all coins, so that everybody's recent past comes before anybody's old one.
 * @returns false when it was not allowed to get to its end
 */
export async function fillMissing(options: FillMissingOptions): Promise<boolean> {
  const { fetchCandles, write, settled, onProgress, mayGoOn } = options
  const work = await findWork(options)
  const total = work.reduce((sum, { missing }) => sum + countMinutes(missing), 0)
  const cache = new CandleCache(fetchCandles)
  let done = 0
  let written = 0
  for (const { coin, window, missing } of work) {
    if (!(await mayGoOn())) return false
    const minutes = missing.flatMap(minutesOf)
    const { samples, gaps } = await fillWindow(coin, minutes, window, cache)
    if (samples.length > 0) await write(samples)
    const holes = gaps.map(({ minute }) => ({ start: minute, end: minute + 1 }))
    settled.set(coin.symbol, joinRanges([...(settled.get(coin.symbol) ?? []), ...holes]))
    done += minutes.length
    written += samples.length
    onProgress({ symbol: coin.symbol, done, total, samples: written, gaps: done - written })
  }
  return true
}

interface Work {
  readonly coin: Coin
  readonly window: MinuteRange
  readonly missing: readonly MinuteRange[]
}

async function findWork({ coins, newest, days, settled, reader }: FillMissingOptions): Promise<Work[]> {
  const start = dayStart(newest) - days * DAY_MINUTES
  const end = newest - LIVE_MINUTES + 1
  const work: Work[] = []
  for (const coin of coins) {
    const known = settled.get(coin.symbol) ?? []
    const stored = await reader.readMissing(coin.symbol, start, end)
    const missing = stored.flatMap(range => subtractRanges(range, known))
    for (const window of windowsOf(missing, WINDOW_MINUTES)) {
      work.push({ coin, window, missing: intersectRanges(missing, window) })
    }
  }
  return work.sort((a, b) => b.window.end - a.window.end)
}
