import type { CoinPremium, DailyPremium } from '@kimchi/client'

/** Minutes of a whole day. */
const WHOLE_DAY = 1440

/** A day as it is shown. */
export interface Day extends DailyPremium {
  /** It is today, in UTC. */
  readonly isRunning: boolean
  /** It is over, and minutes are missing. */
  readonly isPartial: boolean
}

/** The days of a history; the coin's live row brings today's high, low and close up to its minute. */
export function toDays(history: readonly DailyPremium[], row: CoinPremium | undefined, today: string): Day[] {
  return history.map(day => {
    const isRunning = day.date === today
    const now = isRunning && row?.snapshot_at.startsWith(today) ? row.premium_pct : undefined
    return {
      ...day,
      ...(now !== undefined && {
        high_pct: Math.max(day.high_pct, now),
        low_pct: Math.min(day.low_pct, now),
        close_pct: now,
      }),
      isRunning,
      isPartial: !isRunning && day.samples < WHOLE_DAY,
    }
  })
}

/** What the days say about today. */
export interface Figures {
  /** Mean of all minutes, percent. */
  readonly average: number
  /**
   * Percent of the earlier days that closed below today's newest premium; undefined without two earlier days.
   */
  readonly percentile: number | undefined
  /**
   * Standard deviations between today's newest premium and the mean of the earlier closes; undefined where
   * there is none.
   */
  readonly zScore: number | undefined
}

/** Figures of ascending days; undefined without a day. */
export function figuresOf(days: readonly Day[]): Figures | undefined {
  const samples = days.reduce((sum, day) => sum + day.samples, 0)
  if (samples === 0) return undefined
  const average = days.reduce((sum, day) => sum + day.avg_pct * day.samples, 0) / samples
  const now = days.find(day => day.isRunning)?.close_pct
  const closes = days.filter(day => !day.isRunning).map(day => day.close_pct)
  if (now === undefined || closes.length < 2) return { average, percentile: undefined, zScore: undefined }
  const mean = closes.reduce((sum, close) => sum + close, 0) / closes.length
  const deviation = Math.sqrt(
    closes.reduce((sum, close) => sum + (close - mean) ** 2, 0) / (closes.length - 1),
  )
  return {
    average,
    percentile: (100 * closes.filter(close => close < now).length) / closes.length,
    zScore: deviation > 0 ? (now - mean) / deviation : undefined,
  }
}

const COLUMNS = ['date', 'open_pct', 'high_pct', 'low_pct', 'close_pct', 'avg_pct', 'samples'] as const

/** The days as CSV (RFC 4180), under the API's own names. */
export function toCsv(days: readonly Day[]): string {
  return [COLUMNS, ...days.map(day => COLUMNS.map(column => day[column]))]
    .map(row => `${row.join(',')}\r\n`)
    .join('')
}
