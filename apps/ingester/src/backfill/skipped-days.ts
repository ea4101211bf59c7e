import { dateOf, dayStart, type EpochMinute, type UtcDate } from '@kimchi/core'

/** Days of a coin that are not whole, or not there at all, and why. */
export interface Skipped {
  readonly symbol: string
  readonly reason: string
  readonly days: number
  /** The first and the last of them. */
  readonly from: UtcDate
  readonly to: UtcDate
}

/** What an import leaves out, collected as it goes. */
export interface SkippedDays {
  add(symbol: string, reason: string, date: UtcDate): void
  /** From here on, back in time, nothing of the coin can be had. */
  end(symbol: string, reason: string): void
  isEnded(symbol: string): boolean
  /** Days of minutes that are not asked for because the coin has ended. */
  addRest(symbol: string, minutes: readonly EpochMinute[]): void
  /** By symbol, then from new to old; days of one coin and reason as one entry. */
  list(): readonly Skipped[]
}

/** The days of some minutes, ascending, each once. */
export function datesOf(minutes: readonly EpochMinute[]): UtcDate[] {
  return [...new Set(minutes.map(dayStart))].map(dateOf)
}

/** An empty {@link SkippedDays}. */
export function createSkippedDays(): SkippedDays {
  const dates = new Map<string, { symbol: string; reason: string; dates: Set<UtcDate> }>()
  const ended = new Map<string, string>()
  const add = (symbol: string, reason: string, date: UtcDate) => {
    const key = `${symbol} ${reason}`
    const known = dates.get(key) ?? { symbol, reason, dates: new Set() }
    dates.set(key, known)
    known.dates.add(date)
  }
  return {
    add,
    end: (symbol, reason) => {
      ended.set(symbol, reason)
    },
    isEnded: symbol => ended.has(symbol),
    addRest: (symbol, minutes) => {
      const reason = ended.get(symbol)
      if (reason === undefined) return
      for (const date of datesOf(minutes)) add(symbol, reason, date)
    },
    list: () =>
      [...dates.values()]
        .map(({ symbol, reason, dates: days }) => {
          const sorted = [...days].sort()
          return { symbol, reason, days: days.size, from: sorted[0] ?? '', to: sorted.at(-1) ?? '' }
        })
        .sort((a, b) => (a.symbol === b.symbol ? (a.to < b.to ? 1 : -1) : a.symbol < b.symbol ? -1 : 1)),
  }
}
