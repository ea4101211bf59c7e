import type { DailyPremium } from '@kimchi/client'
import { averageE4, type Day, percentOf } from '@kimchi/core'

/** A day as the daily route sends it. */
export function toDailyRow(day: Day): DailyPremium {
  return {
    date: day.date,
    open_pct: percentOf(day.open),
    high_pct: percentOf(day.high),
    low_pct: percentOf(day.low),
    close_pct: percentOf(day.close),
    avg_pct: percentOf(averageE4(day)),
    samples: day.samples,
  }
}
