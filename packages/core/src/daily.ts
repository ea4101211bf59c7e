import type { Sample } from './sample.ts'
import { dateOf } from './time.ts'
import type { EpochMinute, PremiumE4, UtcDate } from './units.ts'

/**
 * One coin's day as it is stored: integers only, so that folding is exact in any order.
 * @see docs/architecture.md#definitions
 */
export interface Day {
  readonly date: UtcDate
  readonly open: PremiumE4
  readonly high: PremiumE4
  readonly low: PremiumE4
  readonly close: PremiumE4
  /** Sum of the premiums of all samples, in 1/10,000 percent. */
  readonly sum: number
  readonly samples: number
  readonly firstMinute: EpochMinute
  readonly lastMinute: EpochMinute
}

/**
 * Folds the samples of one coin into its days, ascending by date. The order of the samples does not matter;
 * each minute is expected once.
 */
export function foldDays(samples: Iterable<Pick<Sample, 'minute' | 'premiumE4'>>): Day[] {
  const days = new Map<UtcDate, Day>()
  for (const { minute, premiumE4 } of samples) {
    const date = dateOf(minute)
    const day = days.get(date)
    days.set(date, {
      date,
      open: day !== undefined && day.firstMinute < minute ? day.open : premiumE4,
      high: Math.max(day?.high ?? premiumE4, premiumE4),
      low: Math.min(day?.low ?? premiumE4, premiumE4),
      close: day !== undefined && day.lastMinute > minute ? day.close : premiumE4,
      sum: (day?.sum ?? 0) + premiumE4,
      samples: (day?.samples ?? 0) + 1,
      firstMinute: Math.min(day?.firstMinute ?? minute, minute),
      lastMinute: Math.max(day?.lastMinute ?? minute, minute),
    })
  }
  return [...days.values()].sort((a, b) => (a.date < b.date ? -1 : 1))
}

/** Mean premium of a day in 1/10,000 percent, rounded half away from zero. Exact, from integers alone. */
export function averageE4(day: Pick<Day, 'sum' | 'samples'>): PremiumE4 {
  const magnitude = Math.floor((2 * Math.abs(day.sum) + day.samples) / (2 * day.samples))
  return day.sum < 0 && magnitude !== 0 ? -magnitude : magnitude
}
