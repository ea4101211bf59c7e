import type { DailyPremium } from '@kimchi/client'

const WHOLE_DAY = 1440
const DAY_MS = 86_400_000

/** A day as it is shown. */
export interface Day extends DailyPremium {
  /** Today in UTC is running; a day that is over is partial when some of its minutes have no sample. */
  readonly status: 'running' | 'partial' | 'whole'
}

/**
 * The rows of a history that lie in the last `range` days up to its newest; their values stay the API's.
 * @param today a UTC date
 */
export function toDays(history: readonly DailyPremium[], today: string, range: number): Day[] {
  const before = dayBefore(history.at(-1)?.date ?? today, range)
  return history
    .filter(({ date }) => date > before)
    .map(day => ({
      ...day,
      status: day.date === today ? 'running' : day.samples < WHOLE_DAY ? 'partial' : 'whole',
    }))
}

/** Each date from the first of ascending days to the last, also those without a row. */
export function calendarOf(days: readonly DailyPremium[]): string[] {
  const [first, last] = [days[0], days.at(-1)]
  if (!first || !last) return []
  const count = (Date.parse(last.date) - Date.parse(first.date)) / DAY_MS + 1
  return Array.from({ length: count }, (_, index) => dayBefore(last.date, count - 1 - index))
}

/** Mean of all minutes of these days, percent. */
export function averageOf(days: readonly DailyPremium[]): number {
  const samples = days.reduce((sum, day) => sum + day.samples, 0)
  return days.reduce((sum, day) => sum + day.avg_pct * day.samples, 0) / samples
}

/** Points between a close and the newest premium; undefined without a close. */
export function changeSince(close: number | undefined, now: number): number | undefined {
  // Both have four decimals; the difference of two floats may have more, and would be rounded otherwise.
  return close === undefined ? undefined : Math.round((now - close) * 10_000) / 10_000
}

export function dayBefore(date: string, days = 1): string {
  return new Date(Date.parse(date) - days * DAY_MS).toISOString().slice(0, 10)
}

/** Writes the days as CSV (RFC 4180), with the API's field names and `status` as columns. */
export function toCsv(days: readonly Day[]): string {
  return [...days.slice(0, 1).map(Object.keys), ...days.map(Object.values)]
    .map(row => `${row.join(',')}\r\n`)
    .join('')
}
