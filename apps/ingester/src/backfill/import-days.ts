import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMinute,
  foldDays,
  type Gap,
  type GapReason,
  minuteOf,
  type UtcDate,
} from '@kimchi/core'
import type { SampleReader, SampleWriter } from '@kimchi/store'
import { type CandleBook, SHARED_MARKETS } from './candle-book.ts'
import { type ImportWindow, type ImportWindowsOptions, importWindows } from './import-windows.ts'
import { minutesOf } from './ranges.ts'
import { datesOf } from './skipped-days.ts'

/** Five days are exactly 36 full pages of Upbit's candles. */
const WINDOW_DAYS = 5

/**
 * So many days further back it is tried whether a coin without candles has older ones: it may have been
 * suspended. Where a page of Upbit's reaches back to any trade that there is, the first attempt tells.
 */
const PROBE_DAYS = [0, 10, 30, 90, 180]

/** Why a day is not whole, for people. */
const REASONS: Readonly<Partial<Record<GapReason, string>>> = {
  'upbit-down': 'Upbit did not trade for a part of the day',
  'binance-down': 'Binance did not trade for a part of the day',
  'no-rate': 'no KRW-USDT price for a part of the day',
  'no-upbit-price': 'no trade on Upbit for more than an hour',
  'no-binance-price': 'no trade on Binance for more than an hour',
}

/** What an import of days works with. */
export interface ImportDaysOptions extends Omit<ImportWindowsOptions, 'store' | 'onDone'> {
  readonly coins: readonly Coin[]
  /** Whole UTC days before today to look at. */
  readonly days: number
  /** Days of which single samples are kept; they are not this import's. */
  readonly retentionDays: number
  readonly reader: Pick<SampleReader, 'readDays' | 'readImported'>
  readonly writer: Pick<SampleWriter, 'importDay' | 'markImported'>
  /** How far it is, in days of one coin. */
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/**
 * Imports days older than the sample retention from candles, newest first, each as a whole. Days that are
 * whole, or as whole as an import could make them, are not fetched again, so it may be stopped and started at
 * any time. A coin ends where its exchanges have no older candles; a suspension does not end it.
 */
export async function importDays(options: ImportDaysOptions, context: Context): Promise<void> {
  const { skipped, writer, onProgress } = options
  const windows = await findWindows(options, context)
  const total = windows.reduce((sum, { minutes }) => sum + minutes.length, 0) / DAY_MINUTES
  let done = 0
  await importWindows(
    windows,
    {
      ...options,
      store: async (window, { samples, gaps }, book) => {
        const { symbol } = window.coin
        for (const day of foldDays(samples)) await writer.importDay(symbol, day)
        const short = shortDays(gaps)
        for (const [date, reason] of short) skipped.add(symbol, reason, date)
        if (short.size > 0) await writer.markImported(symbol, [...short.keys()])
        const end = samples.length > 0 ? undefined : await endOf(window, book, options)
        if (end === undefined) return
        skipped.end(symbol, end)
        const older = windows.filter(({ coin, minutes }) => {
          return coin.symbol === symbol && (minutes[0] ?? 0) < (window.minutes[0] ?? 0)
        })
        await writer.markImported(
          symbol,
          older.flatMap(({ minutes }) => datesOf(minutes)),
        )
      },
      onDone: ({ coin, minutes }) => {
        done += minutes.length / DAY_MINUTES
        onProgress(done, total, coin.symbol)
      },
    },
    context,
  )
}

/** Windows of up to {@link WINDOW_DAYS} days in a row that are still to be had. */
async function findWindows(
  { coins, days, retentionDays, reader }: ImportDaysOptions,
  { clock }: Context,
): Promise<ImportWindow[]> {
  const today = dayStart(minuteOf(clock.now()))
  const newest = today - (retentionDays + 1) * DAY_MINUTES
  const oldest = today - days * DAY_MINUTES
  const windows: ImportWindow[] = []
  for (const coin of coins) {
    const { entries } = await reader.readDays(coin.symbol)
    const whole = entries.filter(day => day.samples === DAY_MINUTES).map(({ date }) => date)
    const settled = new Set([...whole, ...(await reader.readImported(coin.symbol))])
    let end: EpochMinute | undefined
    for (let start = newest; start >= oldest; start -= DAY_MINUTES) {
      const isWanted = !settled.has(dateOf(start))
      if (isWanted) end ??= start + DAY_MINUTES
      const isNextWanted = start > oldest && !settled.has(dateOf(start - DAY_MINUTES))
      if (end === undefined || (isNextWanted && end - start < WINDOW_DAYS * DAY_MINUTES)) continue
      windows.push({ coin, minutes: minutesOf({ start, end }) })
      end = undefined
    }
  }
  return windows
}

/** Days with a gap, and the reason for most of it. */
function shortDays(gaps: readonly Gap[]): ReadonlyMap<UtcDate, string> {
  const counts = new Map<UtcDate, Map<GapReason, number>>()
  for (const { minute, reason } of gaps) {
    const day = counts.get(dateOf(minute)) ?? new Map<GapReason, number>()
    counts.set(dateOf(minute), day)
    day.set(reason, (day.get(reason) ?? 0) + 1)
  }
  return new Map(
    [...counts].map(([date, reasons]) => {
      const [[reason] = ['late' as const]] = [...reasons].sort(([, a], [, b]) => b - a)
      return [date, REASONS[reason] ?? reason]
    }),
  )
}

/** Why there can be nothing older than this window, which held no sample; undefined when there may be. */
async function endOf(
  { coin, minutes }: ImportWindow,
  book: CandleBook,
  { fetchPage }: ImportDaysOptions,
): Promise<string | undefined> {
  const start = minutes[0] ?? 0
  const hasOlder = async (exchange: 'upbit' | 'binance', market: string) => {
    const [oldest] = book.known(market).series.candles[0] ?? []
    if (oldest !== undefined && oldest < start) return true
    for (const days of PROBE_DAYS) {
      const to = start - days * DAY_MINUTES
      const { candles } = await fetchPage(exchange, market, { start: to - DAY_MINUTES, end: to })
      if (candles.some(([, , volume]) => volume > 0)) return true
    }
    return false
  }
  for (const exchange of ['binance', 'upbit'] as const) {
    const market = coin[exchange]
    if (SHARED_MARKETS.has(market) || (await hasOlder(exchange, market))) continue
    return `${market} has no older candles: not listed yet`
  }
  return undefined
}
